"""Reading a verdict out of a reply: the last one counts, and no verdict is never a zero."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    JudgePrompt,
    OutputScale,
    Unscored,
    Verdict,
    read_reply,
    response_format,
)
from judgewright.judges.models import Completion

SCHEMA = {"reason": "text", "score": "score", "confidence": "confidence"}


SCALES = {
    "choice": OutputScale(kind="choice", labels=("C", "P", "I"), threshold=1),
    "supported": OutputScale(kind="binary", labels=("unsupported", "supported"), threshold=1),
    "binary": BINARY,
    "probability": PROBABILITY,
}


def judge(scale: OutputScale | None = None, schema: Mapping[str, str] = SCHEMA) -> JudgePrompt:
    """A judge whose reply has a reason, a score and a confidence."""
    scale = scale or OutputScale()
    return JudgePrompt(
        name="j",
        system="s",
        criteria="c",
        template="{{text}}",
        reply="r",
        scale=scale,
        reply_schema=schema,
    )


def score(text: str, scale: OutputScale | None = None, **completion: str) -> float | str:
    """The score read from a text, or the reason why there is none."""
    answer = read_reply(judge(scale), Completion(text=text, **completion))  # type: ignore[arg-type]
    return answer.score if isinstance(answer, Verdict) else answer.reason


def in_prose(text: str, scale: OutputScale | None = None, mark: str = "Score: ...") -> float | str:
    """The same of a judge whose verdict stands at a mark."""
    prompt = replace(judge(scale, schema={}), reply_mark=mark)
    answer = read_reply(prompt, Completion(text=text))
    return answer.score if isinstance(answer, Verdict) else answer.reason


TABLE = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8"))
LONG = {
    "brackets": "[" * 100_000,
    "a grade of many digits": '{"score": ' + "9" * 9_999 + "}",
    "one of some": '{"score": ' + "9" * 500 + "}",
    "two megabytes": "x" * (1 << 21),
    "half a letter": '\ud800{"score": }',
    "broken behind": '{"score": 1, "reason": ' + "[" * 9_999 + "}",
    "too many objects": '{"score": 1}' * 201,
}


@pytest.mark.parametrize(("text", "expected"), TABLE["json"])
def test_a_judge_that_asks_for_json(text: str, expected: float | str) -> None:
    """The last object with a score decides, and nothing around it."""
    assert score(text) == expected


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_of_what_never_ends_nothing_is_read(text: str) -> None:
    """A number of any length is one of JSON all the same, where it is no grade."""
    assert score(text) == "parse"
    assert score('{"score": 2, "reason": ' + "9" * 9_999 + "}") == 2


@pytest.mark.parametrize(("text", "expected"), TABLE["prose"])
def test_a_judge_with_a_mark(text: str, expected: float | str) -> None:
    """Of several marks the last, with no way back to an earlier one; a sentence has none."""
    assert in_prose(text) == expected


@pytest.mark.parametrize(
    "value", [value for (value,) in TABLE["more_to_it"]] + ["9" * 9_999, "2." + "9" * 9_999]
)
def test_a_value_with_more_to_it_is_no_grade(value: str) -> None:
    """Ranges, choices, other denominators, shares, fractions and questions."""
    assert in_prose(f"Score: {value}") == "parse"
    assert in_prose(value) == "parse"


@pytest.mark.parametrize("value", [value for (value,) in TABLE["dressed"]])
def test_a_value_in_its_usual_dress_is_a_grade(value: str) -> None:
    """Marks, brackets, a full stop and the scale's own denominator."""
    assert in_prose(f"Score: {value}") == 2
    assert in_prose(f"Score: {value} because it is nearly all there") == 2


@pytest.mark.parametrize(("text", "scale", "expected"), TABLE["words"])
def test_words_and_letters_are_read_whole(text: str, scale: str, expected: float | str) -> None:
    """A label that opens a phrase, a question or a choice is not a verdict."""
    assert in_prose(text, SCALES[scale], "Verdict: ...") == expected


def test_truncated_and_refused_replies_are_told_apart() -> None:
    """A reply cut at the token limit is `truncated` even if it names a grade; a refusal is
    `refused`.
    """
    assert score("Score: 2", finish_reason="length") == "truncated"
    assert score("", refusal="no") == "refused"
    assert score("Score: 2", finish_reason="content_filter") == "refused"


_NAMES = st.sampled_from(
    ['"score"', '"reason"', '"confidence"', '"other"', '"sc\\u006fre"', '"a\\"b"', '"\\\\"']
)
_TEXTS = st.text(alphabet='a"\\\n{}é', max_size=8) | st.text(max_size=8)
_OTHERS = st.none() | st.booleans() | st.integers() | st.floats() | st.just([1])
_WRITTEN = st.one_of(
    st.sampled_from(TABLE["odd"]),
    (_TEXTS | _OTHERS).map(json.dumps),
    _TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)),
)


@given(st.lists(st.tuples(_NAMES, _WRITTEN), max_size=5), st.sampled_from(["", " ", "\n"]))
@settings(max_examples=400, deadline=None)
def test_a_reply_that_is_one_object_reads_as_it_does_after_a_word(
    fields: list[tuple[str, str]], end: str
) -> None:
    """The quick way says what the thorough one says. Quoted evidence has escapes; a field that
    stands twice is seen however it and its neighbours are spelled.
    """
    text = "{" + ", ".join(f"{name}: {value}" for name, value in fields) + "}" + end
    alone, after = (read_reply(judge(), Completion(text=said)) for said in (text, f"So {text}"))
    assert type(alone) is type(after)
    for name in ("score", "positive", "confidence", "rationale", "parser", "reason"):
        assert getattr(alone, name, None) == getattr(after, name, None)


def test_what_stands_twice_is_named() -> None:
    """In the detail of the unscored row; a doubtful confidence or reason is not stated."""
    answer = read_reply(judge(), Completion(text='{"score": 1, "score": 0}'))
    assert isinstance(answer, Unscored)
    assert (
        answer.detail
        == "the field 'score' stands more than once in the reply, with different values"
    )
    text = '{"reason": "a", "reason": "b", "confidence": 0.2, "confidence": 0.9, "score": 2}'
    verdict = read_reply(judge(), Completion(text=text))
    assert isinstance(verdict, Verdict)
    assert (verdict.score, verdict.confidence, verdict.rationale) == (2, None, "")


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("stop", 2),
        ("EOS", 2),
        ("end_turn", 2),
        ("max_output_tokens", "truncated"),
        ("recitation", "refused"),
        ("tool_calls", "parse"),
        ("abort", "endpoint"),
        ("insufficient_system_resource", "endpoint"),
    ],
)
def test_a_reply_counts_only_where_its_end_is_known(finish: str, expected: float | str) -> None:
    """Also of the record, which has kept endpoints' own words."""
    assert score('{"score": 2}', finish_reason=finish) == expected


def test_a_choice_is_read_as_a_whole_label() -> None:
    """`GRADE: CI` is not C, and the longest label wins."""
    scale = OutputScale(kind="choice", labels=("C", "I", "C plus"), threshold=1)
    assert in_prose("Verdict: CI", scale, "Grade: ...") == "parse"
    assert in_prose("Grade: C plus", scale, "Grade: ...") == 2
    assert in_prose("grade: c", scale, "Grade: ...") == 0
    assert score('{"score": "I"}', scale) == 1
    assert score('{"score": "none of these"}', scale) == "parse"


def test_binary_and_probability_scales_have_their_words() -> None:
    """yes/no and 0/1 for binary, a number in [0, 1] for a probability."""
    assert [in_prose(f"Score: {w}", BINARY) for w in ("yes", "No", "true", "0")] == [1, 0, 1, 0]
    assert in_prose("Score: maybe", BINARY) == "parse"
    assert score('{"score": 0.25}', PROBABILITY) == 0.25
    assert score("Score: 1.5", PROBABILITY) == "parse"


def test_confidence_and_rationale_come_along() -> None:
    """A stated confidence in [0, 1] is kept, anything else counts as not stated."""
    kept = read_reply(
        judge(), Completion(text='{"reason": "because", "score": 3, "confidence": 0.7}')
    )
    assert isinstance(kept, Verdict)
    assert (kept.confidence, kept.rationale, kept.parser, kept.positive) == (
        0.7,
        "because",
        "json",
        True,
    )
    odd = read_reply(judge(), Completion(text='{"score": 1, "confidence": 7}'))
    assert isinstance(odd, Verdict)
    assert odd.confidence is None
    prose = read_reply(judge(), Completion(text="Score: 0\nConfidence: 0.9"))
    assert isinstance(prose, Verdict)
    assert prose.probability == pytest.approx(0.1)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    """Whatever a model says, the answer is a verdict on the scale or a reason."""
    answer = read_reply(judge(), Completion(text=text))
    assert isinstance(answer, Unscored) or answer.score in (0, 1, 2, 3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3), st.text(st.characters(whitelist_categories=("L", "Zs")), max_size=40))
def test_what_the_schema_asks_for_is_read_back(grade: int, reason: str) -> None:
    """A reply that follows the response format gives its own score."""
    import orjson

    body = {"reason": reason, "score": grade, "confidence": 0.5}
    assert score(orjson.dumps(body).decode()) == grade


def test_the_response_format_is_strict_and_in_order() -> None:
    """Reason before score, no extra fields, only grades of the scale."""
    schema = response_format(judge())["json_schema"]["schema"]  # type: ignore[index]
    assert list(schema["properties"]) == ["reason", "score", "confidence"]
    assert schema["properties"]["score"] == {"type": "integer", "enum": [0, 1, 2, 3]}
    assert schema["additionalProperties"] is False


def test_without_a_schema_braces_in_prose_are_prose() -> None:
    """A set in braces, or a quoted object, does not hide the verdict line of a plain-text
    prompt.
    """

    assert in_prose("The set {a, b} is named.\nScore: 2") == 2
    assert in_prose('{"score": 1} and {a, b}') == "parse"
    assert in_prose('{"note": 1}\nScore: 2') == 2
    assert in_prose('The row has {"score": 1}.\nScore: 2') == 2
    assert score("The set {a, b} is named.\nScore: 2") == "parse"


def test_a_lone_surrogate_in_json_can_be_stored() -> None:
    """The rationale can be written as UTF-8 whatever the model escaped."""
    answer = read_reply(judge(), Completion(text='{"reason": "\\ud800", "score": 2}'))
    assert isinstance(answer, Verdict)
    assert answer.rationale.encode() == b"?"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("0.9", 0.9),
        ("**1**.", 1.0),
        ("1" * 99_999 + "%", None),
        ("95%", None),
        ("0,9", None),
        ("1 out of 10", None),
    ],
)
def test_a_confidence_in_prose_is_read_whole_or_not_at_all(
    stated: str, expected: float | None
) -> None:
    """Shares in percent and other denominators count as not stated, and so does an earlier one."""
    text = f"Confidence: 0.1\nScore: 2\nConfidence: {stated}"
    answer = read_reply(judge(schema={}), Completion(text=text))
    assert isinstance(answer, Verdict)
    assert answer.confidence == expected


MEGABYTE = 1 << 20


@pytest.mark.parametrize("unit", TABLE["hostile"])
@pytest.mark.parametrize("opening", ["", '{"a":' * 150 + "[", "Score: 2 or ", "```json\n"])
def test_a_megabyte_of_anything_has_no_verdict(unit: str, opening: str) -> None:
    """A hostile reply is read to its end without a verdict, each in a fraction of a second."""
    text = opening + unit * ((MEGABYTE - len(opening)) // len(unit))
    assert score(text) == "parse"


def test_a_verdict_before_or_behind_a_megabyte_is_found() -> None:
    """Long runs do not hide the line that decides."""
    for unit in ("\n", " \n", "a\n", "`\n", "the score\n"):
        run = unit * (MEGABYTE // len(unit) - 20)
        assert in_prose(f"Score: 2\n{run}") == 2
        assert in_prose(f"{run}\nScore: 2") == 2
