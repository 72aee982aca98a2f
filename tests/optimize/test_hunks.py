"""Hunks: a diff taken apart and put together again, and what each piece does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Client,
    Dataset,
    Example,
    InputError,
    JudgedDataset,
    JudgePrompt,
    OutputScale,
    PromptError,
    Registry,
    Row,
    Simulated,
    Verdict,
    compare,
    judge,
)
from judgewright.optimize import compose, cut_sentences, measure_hunks, split_hunks

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
EXAMPLES = st.lists(
    st.sampled_from(
        [Example(inputs={"x": letter}, reply=str(i)) for i, letter in enumerate("abcd")]
    ),
    max_size=4,
).map(tuple)
ANCHORS = st.tuples(*[st.sampled_from(["none", "1: some\n2: all. Twice.", "all"])] * 2).map(
    lambda texts: dict(zip("02", texts, strict=True))
)
PROMPTS = st.builds(
    lambda system, criteria, reply, examples, anchors: replace(
        PROMPT,
        system=system,
        criteria=criteria,
        reply=reply,
        examples=examples,
        scale=replace(PROMPT.scale, anchors=anchors),
    ),
    *(TEXTS, TEXTS, TEXTS, EXAMPLES, ANCHORS),
)


@settings(max_examples=300)
@given(PROMPTS, PROMPTS, st.none() | st.integers(1, 6))
def test_all_hunks_make_the_new_prompt_and_none_the_old_one(
    before: JudgePrompt, after: JudgePrompt, most: int | None
) -> None:
    """To the letter, white space included, whatever is joined; equal prompts have no hunk."""
    diff = split_hunks(before, after, most=most)
    assert compose(diff, diff.numbers).version == after.version
    assert compose(diff, ()) == before
    assert [hunk.number for hunk in diff.hunks] == list(range(1, len(diff.hunks) + 1))
    assert (len(diff.hunks) == 0) == (before.version == after.version)
    parts = len({hunk.part for hunk in diff.hunks})
    assert most is None or len(diff.hunks) <= max(most, parts)


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
    assert len(composed.examples) == len(before.examples) + sum(
        len(hunk.new) - len(hunk.old)
        for hunk in diff.hunks
        if hunk.part == "examples" and hunk.number in chosen
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


def test_a_demonstration_is_a_hunk() -> None:
    """Added and removed one by one, in place."""
    one, two, three = (Example(inputs={"x": x}, reply="1") for x in "abc")
    diff = split_hunks(replace(PROMPT, examples=(one, two)), replace(PROMPT, examples=(two, three)))
    assert [(hunk.part, hunk.kind) for hunk in diff.hunks] == [
        ("examples", "removed"),
        ("examples", "added"),
    ]
    assert compose(diff, {2}).examples == (one, two, three)
    assert str(diff.hunks[1]) == "+ x: c\n=> 1"


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
    with pytest.raises(InputError, match="0 hunks"):
        split_hunks(PROMPT, PROMPT, most=0)


FOUR = PROMPT.edited(criteria=PROMPT.criteria + " Rule one. Rule two. Rule three. Rule four.")
RULES = ("Rule one.", "Rule two.", "Rule three.", "Rule four.")


class Written:
    """A judge whose verdicts follow the rules in its criteria: each flips some rows, for the better
    or the worse.
    """

    def __init__(
        self, rng: np.random.Generator, n: int, flips: Mapping[str, tuple[float, float]]
    ) -> None:
        """`flips` gives for a rule the shares of wrong verdicts it mends and of right ones it
        breaks.
        """
        self.label = rng.random(n) < 0.5
        wrong = rng.random(n) < 0.25
        self.base = self.label ^ wrong
        self.flips = {
            rule: rng.random(n) < np.where(wrong, mended, broken)
            for rule, (mended, broken) in flips.items()
        }
        made = (
            Row(id=f"r{i}", inputs={"x": f"{i}"}, label=float(y), group=f"g{i // 2}")
            for i, y in enumerate(self.label)
        )
        self.rows = Dataset.of(made, labels=BINARY)
        self.asked: list[str] = []

    def __call__(self, doing: str, prompt: JudgePrompt) -> JudgedDataset:
        assert doing
        self.asked.append(prompt.version)
        said = self.base.copy()
        for rule, flip in self.flips.items():
            if rule in prompt.criteria:
                said ^= flip
        answers = tuple(
            Verdict(row_id=f"r{i}", score=3.0 * p, positive=bool(p)) for i, p in enumerate(said)
        )
        return JudgedDataset(dataset=self.rows, answers=answers, scale=prompt.scale)


def errors(judged: JudgedDataset) -> np.ndarray:
    """One for a wrong verdict."""
    return (judged.positive != judged.predicted).astype(np.float64)


def test_each_end_is_the_paired_comparison_of_two_prompts() -> None:
    """Left out and alone: difference and interval are those of `compare`; the mean lies halfway."""
    written = Written(np.random.default_rng(0), 600, dict.fromkeys(RULES, (0.2, 0.04)))
    diff = split_hunks(PROMPT, FOUR)
    report = measure_hunks(diff, written, errors, metric="f1")
    for effect in report.effects:
        number = effect.hunk.number
        ends = (
            (effect.left_out, compose(diff, diff.numbers - {number}), FOUR),
            (effect.alone, PROMPT, compose(diff, {number})),
        )
        for found, without, whole in ends:
            change = compare("f1", written("x", without), written("x", whole))
            assert change is not None
            assert found.metric.value == pytest.approx(change.difference)
            assert (found.metric.low, found.metric.high) == pytest.approx((change.low, change.high))
            loss = errors(written("x", whole)).mean() - errors(written("x", without)).mean()
            assert found.loss.value == pytest.approx(loss)
        halfway = np.mean([effect.left_out.metric.value, effect.alone.metric.value])
        assert effect.mean.metric.value == pytest.approx(halfway)
        assert effect.mean.metric.low < halfway < effect.mean.metric.high


def test_a_harmful_hunk_among_four_is_marked_and_left_out() -> None:
    """In at least 18 of 20 draws; the composed rest is what goes to the gate."""
    found = []
    for seed in range(20):
        flips = dict.fromkeys(RULES, (0.12, 0.02)) | {"Rule three.": (0.0, 0.12)}
        report = measure_hunks(
            split_hunks(PROMPT, FOUR),
            Written(np.random.default_rng(seed), 600, flips),
            errors,
            metric="f1",
        )
        found.append(report.effects[2].mark == "harms" and 3 not in report.harmless)
    assert sum(found) >= 18


@pytest.mark.slow
def test_hunks_that_only_shuffle_verdicts_are_rarely_marked() -> None:
    """Each flips as many for the better as for the worse: in 100 draws, at most 5 % with any mark,
    and its noise.
    """
    marked = 0
    for seed in range(100):
        flips = dict.fromkeys(RULES, (0.09, 0.03))  # of 25 % wrong and 75 % right, the same number
        report = measure_hunks(
            split_hunks(PROMPT, FOUR),
            Written(np.random.default_rng(seed), 400, flips),
            errors,
            metric="accuracy",
        )
        marked += any(effect.mark != "no effect shown" for effect in report.effects)
    assert marked <= 11


@pytest.mark.parametrize(("k", "prompts"), [(1, 2), (2, 4), (3, 8), (4, 10)])
def test_it_judges_no_more_prompts_than_it_says(k: int, prompts: int) -> None:
    """Two and two a hunk; what coincides is judged once."""
    after = PROMPT.edited(criteria=" ".join((PROMPT.criteria, *RULES[:k])))
    diff = split_hunks(PROMPT, after)
    written = Written(np.random.default_rng(1), 60, {})
    report = measure_hunks(diff, written, errors, metric="accuracy")
    assert len(written.asked) == len(set(written.asked)) == report.prompts == prompts


def test_under_twenty_groups_nothing_is_marked() -> None:
    """However large the effect: a clustered error is not to be trusted then."""
    written = Written(np.random.default_rng(2), 30, {"Rule one.": (0.0, 1.0)})
    report = measure_hunks(split_hunks(PROMPT, FOUR), written, errors, metric="accuracy")
    assert {effect.mark for effect in report.effects} == {"no effect shown"}
    assert "15 groups" in report.notes[0]


def test_a_hunk_without_any_effect_has_no_interval_and_says_why() -> None:
    """Nothing changed: the difference is nought and nothing is made up beside it."""
    written = Written(np.random.default_rng(3), 200, {})
    report = measure_hunks(split_hunks(PROMPT, FOUR), written, errors, metric="precision")
    assert all(effect.mean.metric.value == 0 for effect in report.effects)
    assert all(
        effect.mean.loss.low is None and effect.mean.loss.reason for effect in report.effects
    )
    json.dumps(report.to_json(), allow_nan=False)


def test_an_edit_without_hunks_has_an_empty_report() -> None:
    """The same prompt twice."""
    written = Written(np.random.default_rng(4), 60, {})
    report = measure_hunks(split_hunks(PROMPT, PROMPT), written, errors, metric="f1")
    assert (report.effects, report.harmless, report.prompts) == ((), frozenset(), 1)


def test_what_was_judged_before_is_answered_from_the_record() -> None:
    """Through the client: the second report makes no call, and is labelled simulated."""
    prompt = Registry().get("groundedness")
    made = (
        Row(
            id=f"r{i}",
            inputs={"source": f"Box {i} is blue.", "statement": f"It is {c}."},
            label=float(c == "blue"),
        )
        for i, c in enumerate(["blue", "red"] * 15)
    )
    rows = Dataset.of(made, labels=BINARY)
    diff = split_hunks(
        prompt, prompt.edited(criteria=prompt.criteria + " Be strict. Accept every statement.")
    )
    with Client(Simulated()) as client:
        reports = [
            measure_hunks(
                diff, lambda doing, asked: judge(asked, rows, client), errors, metric="accuracy"
            )
            for _ in range(2)
        ]
        assert client.stats.calls == 4 * len(rows)
    assert reports[0] == reports[1]
    assert reports[0].simulated
