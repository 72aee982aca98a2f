"""Hunks: a diff taken apart and put together again, and what each piece does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    Case,
    CaseBank,
    Cases,
    InputError,
    JudgePrompt,
    OutputScale,
    PromptError,
)
from judgewright.optimize import compose, cut_sentences, split_hunks

PROMPT = JudgePrompt(
    name="j",
    system="You judge.",
    criteria="Read the source. Look for each fact.\nBe fair.",
    template="{{x}}",
    reply="Answer with a score.",
    scale=OutputScale(),
)
TEXTS = st.lists(
    st.sampled_from(
        [
            "Be strict. ",
            "Read it all.\n",
            "Count e.g. Dates! ",
            "- one item\n",
            "a b",
            "  ",
            "\n\n",
            "1. First. ",
            "是的。",
            "好。",
        ]
    ),
    max_size=8,
).map("".join)
ANCHORS = st.tuples(*[st.sampled_from(["none", "1: some\n2: all. Twice.", "all"])] * 2).map(
    lambda texts: dict(zip("02", texts, strict=True))
)
PROMPTS = st.builds(
    lambda system, criteria, reply, anchors: replace(
        PROMPT,
        system=system,
        criteria=criteria,
        reply=reply,
        scale=replace(PROMPT.scale, anchors=anchors),
    ),
    *(TEXTS, TEXTS, TEXTS, ANCHORS),
)


@settings(max_examples=300)
@given(PROMPTS, PROMPTS)
def test_all_hunks_make_the_new_prompt_and_none_the_old_one(
    before: JudgePrompt, after: JudgePrompt
) -> None:
    """To the letter, white space included, equal prompts have no hunk."""
    diff = split_hunks(before, after)
    assert compose(diff, diff.numbers).version == after.version
    assert compose(diff, ()) == before
    assert [hunk.number for hunk in diff.hunks] == list(range(1, len(diff.hunks) + 1))
    assert (len(diff.hunks) == 0) == (before.version == after.version)


@settings(max_examples=200)
@given(PROMPTS, PROMPTS, st.data())
def test_any_choice_holds_what_stays_and_what_was_chosen_and_nothing_else(
    before: JudgePrompt, after: JudgePrompt, data: st.DataObject
) -> None:
    """Counted by sentence: kept ones, the new side of chosen hunks, the old side of the others."""
    diff = split_hunks(before, after)
    chosen = data.draw(st.sets(st.sampled_from(sorted(diff.numbers)))) if diff.numbers else set()
    composed = compose(diff, chosen)
    for part in ("system", "criteria", "reply"):
        left = sorted(s.text for s in cut_sentences(getattr(before, part)))
        for hunk in diff.hunks:
            if hunk.part == part and hunk.number in chosen:
                for text in hunk.old:
                    left.remove(text)
                left += hunk.new
        joined = "".join(getattr(composed, part).split())
        assert sorted(joined) == sorted("".join("".join(left).split()))
    anchors = [
        str(hunk.new[0]) for hunk in diff.hunks if hunk.part == "anchors" and hunk.number in chosen
    ]
    for grade, anchor in before.scale.anchors.items():
        chosen_one = f"{grade}: {after.scale.anchors[grade]}"
        assert composed.scale.anchors[grade] == (
            after.scale.anchors[grade] if chosen_one in anchors else anchor
        )


@given(TEXTS)
def test_the_cut_text_is_the_text(text: str) -> None:
    """Gaps and sentences in order are all there is, but for white space at the ends."""
    assert "".join((s.gap or "") + s.text for s in cut_sentences(text)) == text.strip()


def test_each_added_sentence_is_a_hunk_and_a_changed_one_is_reworded() -> None:
    """Three sentences added in one place are three; one that keeps most of its words is one."""
    after = PROMPT.edited(
        criteria=(
            "Check dates. Read the whole source. Look for each fact.\nBe fair. Be strict. Be brief."
        )
    )
    diff = split_hunks(PROMPT, after)
    assert [(hunk.kind, str(hunk)) for hunk in diff.hunks] == [
        ("added", "+ Check dates."),
        ("reworded", "- Read the source.\n+ Read the whole source."),
        ("added", "+ Be strict."),
        ("added", "+ Be brief."),
    ]
    assert (
        compose(diff, {1, 4}).criteria
        == "Check dates. Read the source. Look for each fact.\nBe fair. Be brief."
    )
    assert (
        compose(diff, {2, 3}).criteria
        == "Read the whole source. Look for each fact.\nBe fair. Be strict."
    )
    composed = compose(diff, {2, 3})
    assert (composed.parent, composed.note) == (
        PROMPT.version,
        f"hunks 2, 3 of 4 from {after.version}",
    )


def test_abbreviations_numbered_lists_and_wrapped_lines_are_not_cut() -> None:
    """A person reads whole sentences."""
    text = "Mind units, e.g. Metres. 1. Read it.\n2. Compare each number\nwith the source. Done"
    assert [str(s) for s in cut_sentences(text)] == [
        "Mind units, e.g. Metres.",
        "1. Read it.",
        "2. Compare each number\nwith the source.",
        "Done",
    ]


def test_cases_are_one_hunk() -> None:
    """Taken or left whole: half of a bank is another bank."""
    cases = [Case(inputs=dict.fromkeys(PROMPT.inputs, x), label=1) for x in "abc"]
    before, after = (
        replace(PROMPT, cases=Cases(bank=CaseBank(cases=tuple(bank))))
        for bank in (cases[:2], cases[1:])
    )
    after = after.edited(criteria=f"{PROMPT.criteria} Be strict.")
    diff = split_hunks(before, after)
    assert [(hunk.part, hunk.kind) for hunk in diff.hunks] == [
        ("criteria", "added"),
        ("cases", "reworded"),
    ]
    assert compose(diff, {1}).cases == before.cases
    assert compose(diff, {2}).cases == after.cases
    assert compose(diff, {2}).criteria == PROMPT.criteria
    (came,) = split_hunks(PROMPT, before).hunks
    assert (came.part, came.kind) == ("cases", "added")
    assert compose(split_hunks(before, PROMPT), {1}) == PROMPT


def test_spacing_alone_is_a_hunk_and_else_follows_the_first_one_taken() -> None:
    """A reflow is taken or left; beside a new sentence it is not told apart."""
    spaced = PROMPT.edited(criteria=PROMPT.criteria.replace("\n", "\n\n"))
    assert [hunk.kind for hunk in split_hunks(PROMPT, spaced).hunks] == ["spacing"]
    longer = PROMPT.edited(criteria=spaced.criteria + " Be strict. Be brief.")
    diff = split_hunks(PROMPT, longer)
    assert compose(diff, {2}).criteria == spaced.criteria + " Be brief."


def test_what_cannot_be_taken_in_parts_is_refused() -> None:
    """Another scale, template or set of reply fields; a hunk that is not there."""
    for changed in (
        {"template": "Text: {{x}}"},
        {"scale": OutputScale(low=1, high=5, threshold=3)},
        {"reply_schema": {"score": "score"}},
    ):
        with pytest.raises(PromptError, match=f"differ in {next(iter(changed))}"):
            split_hunks(PROMPT, replace(PROMPT, **changed))
    with pytest.raises(InputError, match="no hunk 7"):
        compose(split_hunks(PROMPT, PROMPT.edited(criteria="x")), {7})
