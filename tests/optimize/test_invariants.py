"""Candidate invariants: each violation is refused under its own name."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    Case,
    CaseBank,
    Cases,
    JudgePrompt,
    OutputScale,
    Registry,
    Row,
)
from judgewright.optimize import PhraseIndex, check_candidate

BASE = Registry().get("groundedness")
ROW = Row(
    id="train-7",
    inputs={
        "source": "The old harbour crane was sold to a museum in the spring of 1987 for one coin.",
        "statement": "s",
    },
)
PHRASES = PhraseIndex([ROW])


def names(candidate: JudgePrompt, base: JudgePrompt = BASE) -> set[str]:
    """The names of what a candidate breaks."""
    return {violation.name for violation in check_candidate(base, candidate, phrases=PHRASES)}


def test_a_plain_edit_of_the_criteria_passes() -> None:
    """One more rule breaks nothing."""
    assert names(BASE.edited(criteria=BASE.criteria + "\nNumbers must match.")) == set()


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (BASE, "unchanged"),
        (BASE.edited(criteria="  \n "), "empty"),
        (BASE.edited(template="{{source}}"), "placeholder_lost"),
        (BASE.edited(criteria="Use {{gold}} too."), "placeholder_added"),
        (BASE.edited(template=BASE.template + "!"), "template_changed"),
        (replace(BASE, scale=replace(BASE.scale, high=5)), "scale_changed"),
        (replace(BASE, scale=replace(BASE.scale, threshold=1)), "scale_changed"),
        (BASE.edited(reply="Say anything."), "reply_changed"),
        (BASE.edited(system="You are kind."), "part_not_editable"),
        (
            replace(
                BASE,
                cases=Cases(bank=CaseBank(cases=(Case({"source": "a", "statement": "b"}, 1),))),
            ),
            "part_not_editable",
        ),
        (BASE.edited(criteria="word " * 3000), "token_cap"),
        (BASE.edited(criteria="Such as: crane was sold to a museum in the spring"), "quotes_row"),
        (BASE.edited(criteria="Be\u202e strict."), "hidden_characters"),
        (BASE.edited(criteria="Be\u200b strict."), "hidden_characters"),
        *(
            (BASE.edited(criteria=f"Be{c} strict."), "hidden_characters")
            for c in "\u2028\u2029\ufe0f\U000e0100\u034f\u2800\u3164\u115f\u1160\uffa0"
        ),
        *(
            (BASE.edited(criteria=f"Use {name} too."), "placeholder_added")
            for name in (
                "{answer}",
                "${answer}",
                "{% x %}",
                "{{ x }}",
                "{answer!r}",
                "{ row.gold }",
                "{n:>10}",
            )
        ),
    ],
)
def test_each_violation_has_its_name(candidate: JudgePrompt, expected: str) -> None:
    """What is wrong with a candidate is said by name."""
    assert expected in names(candidate)


@pytest.mark.parametrize(
    "braces", ['{"score": 1}', "{}", '{"a": {"b": 2}}', "{yes, no}", "{score: 1}"]
)
def test_braces_that_name_nothing_are_no_placeholder(braces: str) -> None:
    """JSON and sets in the criteria are only text."""
    assert names(BASE.edited(criteria=f"{BASE.criteria}\nSuch as {braces}.")) == set()


QUOTED = "crane was sold to a museum in the spring"


@pytest.mark.parametrize(
    "disguise",
    [
        QUOTED.replace(" ", "_"),
        QUOTED.replace("a", "_a"),
        QUOTED.replace("a", "a\u0301"),
        QUOTED.replace("m", "m\u00ad"),
        "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in QUOTED),
    ],
)
def test_a_disguised_quotation_is_caught(disguise: str) -> None:
    """Underscores, accents, soft hyphens and fullwidth letters do not hide a row's words."""
    assert "quotes_row" in names(BASE.edited(criteria=f"Such as: {disguise}"))


def test_a_quotation_without_spaces_is_caught() -> None:
    """Eight characters in a row of Chinese are eight words."""
    row = Row(id="zh", inputs={"source": "港口的旧起重机在春天卖给了博物馆", "statement": "s"})
    candidate = BASE.edited(criteria="例如旧起重机在春天卖。")
    assert "quotes_row" in {
        v.name for v in check_candidate(BASE, candidate, phrases=PhraseIndex([row]))
    }


@pytest.mark.parametrize("text", ["{{" + " " * 1500, "{{" * 700, "{%" * 700, "{a" * 700])
def test_unclosed_braces_cost_no_time(text: str) -> None:
    """What looks like the beginning of a placeholder is read once; a backtracking pattern took
    minutes.
    """
    original = BASE.edited(criteria="criterion " * 5_000)  # its cap lets the text be read
    start = time.process_time()
    check_candidate(original, original.edited(criteria=text), phrases=PHRASES)
    assert time.process_time() - start < 1.0


def test_a_candidate_over_the_cap_is_not_looked_at_further() -> None:
    """The cap comes first, so that a huge reply costs nothing."""
    huge = BASE.edited(criteria="{{gold}} \u200b" * 100_000)
    assert names(huge) == {"token_cap"}


def test_a_renamed_placeholder_is_both_lost_and_added() -> None:
    """Renaming source to context loses one placeholder and adds another."""
    renamed = BASE.edited(template=BASE.template.replace("{{source}}", "{{context}}"))
    assert {"placeholder_lost", "placeholder_added", "template_changed"} <= names(renamed)


def test_what_the_prompt_said_already_may_be_kept() -> None:
    """A phrase of the original prompt that also stands in a row is no quotation."""
    shared = Row(id="r", inputs={"source": BASE.criteria, "statement": "s"})
    kept = BASE.edited(criteria=BASE.criteria + "\nAnd more.")
    assert check_candidate(BASE, kept, phrases=PhraseIndex([shared])) == ()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 8), st.text(st.characters(whitelist_categories=("L",)), max_size=20))
def test_any_eight_words_of_a_row_are_caught(start: int, before: str) -> None:
    """Wherever the quotation begins, whatever stands before it, in any case."""
    words = ROW.inputs["source"].split()
    quotation = " ".join(words[start : start + 8]).upper()
    expected = {"quotes_row"} if start + 8 <= len(words) else set()
    assert names(BASE.edited(criteria=f"{before} {quotation}")) >= expected


ANCHORS = dict(BASE.scale.anchors)


def reworded(**changes: str) -> JudgePrompt:
    """The judge with other words for some of its grades."""
    anchors = {grade: changes.get(f"g{grade}", text) for grade, text in ANCHORS.items()}
    return replace(BASE, scale=replace(BASE.scale, anchors=anchors))


def test_anchors_may_change_only_where_they_are_editable() -> None:
    """Their wording; the grades, the threshold, and that each has a meaning stay."""
    better = reworded(g2="supports the statement but for a detail")
    assert names(better) == {"scale_changed"}

    def found(candidate: JudgePrompt) -> dict[str, str]:
        broken = check_candidate(BASE, candidate, phrases=PHRASES, editable=("criteria", "anchors"))
        return {violation.name: violation.detail for violation in broken}

    assert found(better) == {}
    assert found(replace(better, scale=replace(better.scale, threshold=1)))["scale_changed"]
    assert found(replace(BASE, scale=replace(BASE.scale, anchors={"0": "no", "3": "yes"})))[
        "scale_changed"
    ] == ("it says of 0, 3 what it means, and not of 0, 1, 2, 3")
    assert found(reworded(g1=" "))["scale_changed"] == "the anchor of 1 is empty"
    assert "quotes_row" in found(reworded(g1="as in: crane was sold to a museum in the spring"))
    assert "placeholder_added" in found(reworded(g1="as {{gold}} says"))
    assert "hidden_characters" in found(reworded(g1="a\u200bb"))
    assert "token_cap" in found(reworded(g1="word " * 3000))


def test_the_scale_of_another_kind_is_another_scale() -> None:
    """A binary scale in place of grades is refused."""
    assert "scale_changed" in names(replace(BASE, scale=OutputScale(kind="binary", threshold=1)))


OPEN = ("criteria", "system", "cases", "reply")


def shown(inputs: dict[str, str], reason: str = "") -> JudgePrompt:
    """The base prompt with a bank of one case."""
    bank = CaseBank(cases=(Case(inputs=inputs, label=3, reason=reason),))
    return replace(BASE, cases=Cases(bank=bank))


def open_names(candidate: JudgePrompt, training: tuple[Row, ...] = (ROW,)) -> set[str]:
    """The names of what a candidate breaks where every part may change."""
    found = check_candidate(BASE, candidate, phrases=PHRASES, editable=OPEN, training=training)
    return {violation.name for violation in found}


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_a_new_case_is_a_training_row_to_the_letter(source: str, statement: str) -> None:
    """Any other texts are refused under their own name, and which row they are of is not told."""
    inputs = {"source": source, "statement": statement}
    surrogates = any("\ud800" <= c <= "\udfff" for c in source + statement)
    if surrogates:
        return
    known = Row(id="t", inputs=inputs)
    assert "case_not_training" not in open_names(shown(inputs), (ROW, known))
    assert ("case_not_training" in open_names(shown(inputs))) == (inputs != dict(ROW.inputs))


def test_a_case_may_quote_its_row_and_the_criteria_may_not() -> None:
    """A case is a whole row, and a reason quotes it; the same words in the criteria are a leak."""
    words = "harbour crane was sold to a museum in the spring"
    assert open_names(shown(dict(ROW.inputs), words)) == set()
    both = replace(shown(dict(ROW.inputs), words), criteria=BASE.criteria + "\n" + words)
    assert open_names(both) == {"quotes_row"}


def test_cases_need_leave_to_change() -> None:
    """A run that may edit the criteria alone leaves bank, count and choice as they are."""
    for candidate in (shown(dict(ROW.inputs)), replace(shown(dict(ROW.inputs)), criteria="Rules.")):
        broken = check_candidate(BASE, candidate, phrases=PHRASES, training=(ROW,))
        assert [(one.name, "cases" in one.detail) for one in broken] == [
            ("part_not_editable", True)
        ]


def test_cases_of_the_original_stay_whatever_rows_they_are_of() -> None:
    """What the judge came with is not the run's to refuse."""
    base = shown({"source": "shipped", "statement": "with it"})
    edited = base.edited(criteria=base.criteria + "\nNumbers must match.")
    assert check_candidate(base, edited, phrases=PHRASES) == ()


def test_a_reply_clause_that_may_change_still_names_its_fields() -> None:
    """Words around the fields may change; a field left out, or another schema, may not."""
    assert open_names(BASE.edited(reply=BASE.reply + " Be brief.")) == set()
    assert open_names(BASE.edited(reply="Answer with JSON: score.")) == {"reply_changed"}
    assert open_names(replace(BASE, reply_schema={"score": "score"})) == {"reply_changed"}
