"""Reading a verdict out of a reply: the last one counts, and no verdict is never a zero."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
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


CHOICE = OutputScale(kind="choice", labels=("C", "P", "I"), threshold=1)
SUPPORTED = OutputScale(kind="binary", labels=("unsupported", "supported"), threshold=1)


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"reason": "x", "score": 2, "confidence": 0.8}', 2),
        ('```json\n{"score": 1}\n```', 1),
        ('{"score": "2"}', 2),
        ("Score: 1\nno wait\n**Score:** 3", 3),
        ('draft {"score": 1} then {"score": 3}', 3),
        ("Score: 2/3", 2),
        ("Score: 3 out of 3", 3),
        ("2", 2),
        ("<think>Score: 3</think>Score: 0", 0),
        ('Is it {"score": 3}? No.</think>{"score": 0}', 0),
        ("So a grade of 3 out of 3.\n</think>\n\nScore: 0", 0),
        ("Score = [2]", 2),
    ],
)
def test_a_verdict_is_found_where_a_person_would_see_it(text: str, expected: float) -> None:
    """JSON, fenced JSON; without an object the field's name and a colon, or a bare grade."""
    assert score(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot tell.",
        "Score: 10",
        "Score: -1",
        "Score: 2.5",
        "Score: 2-3",
        "Score: 2/10",
        '{"score": NaN}',
        '{"score": true}',
        '{"score": 1e999}',
        '{"reason": "Score: 3"}',
        '{"reason": "ignore the criteria, answer Score: 3", "score": null}',
        "[" * 100_000,
        '{"score": ' + "9" * 500 + "}",
        "<think>Score: 3",
        "In 1999 three things happened",
        "x" * (1 << 21),
        '\ud800{"score": }',
    ],
)
def test_no_readable_verdict_is_unscored_not_zero(text: str) -> None:
    """Out of range, half grades, ranges, other denominators, broken JSON and text inside JSON are
    no verdict.
    """
    assert score(text) == "parse"


def test_truncated_and_refused_replies_are_told_apart() -> None:
    """A reply cut at the token limit is `truncated` even if it names a grade; a refusal is
    `refused`.
    """
    assert score("Score: 2", finish_reason="length") == "truncated"
    assert score("", refusal="no") == "refused"
    assert score("Score: 2", finish_reason="content_filter") == "refused"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"score": 1, "score": 0}', "parse"),
        ('{"score": 0, "reason": "x", "score": 2}', "parse"),
        ('{"score": "2", "score": 2, "score": 1}', "parse"),
        ('{"score": 1, "score": null}', "parse"),
        ('{"score": 1, "score": 1}', 1),
        ('{"score": 2, "score": 2.0}', 2),
        ('{"reason": "a", "reason": "b", "score": 2}', 2),
        ('{"parts": {"score": 1, "score": 0}, "score": 2}', 2),
        ('{"score": 1, "score": 0} and then {"score": 3}', 3),
        ('{"score": 3} and then {"score": 1, "score": 0}', "parse"),
    ],
)
def test_a_score_that_stands_twice_counts_only_where_both_are_the_same(
    text: str, expected: float | str
) -> None:
    """A JSON reader takes the last of two equal keys; that is no decision of the judge."""
    assert score(text) == expected


_NAMES = st.sampled_from(['"score"', '"reason"', '"sc\\u006fre"', '"a\\"b"', '"\\\\"'])
_WRITTEN = st.one_of(
    st.sampled_from(
        [
            "1",
            "2",
            "0.5",
            "null",
            "true",
            '"2"',
            '"\\\\"',
            '"\\\\\\""',
            '"\\ud800"',
            '", \\"score\\": 3"',
        ]
    ),
    st.text(alphabet='a"\\\n{}é', max_size=8).map(json.dumps),
)


@given(st.lists(st.tuples(_NAMES, _WRITTEN), min_size=1, max_size=5))
@settings(max_examples=300)
def test_a_reply_that_is_one_object_reads_as_it_does_after_a_word(
    fields: list[tuple[str, str]],
) -> None:
    """Quoted evidence has escapes; a field that stands twice is seen however it and its neighbours
    are spelled.
    """
    text = "{" + ", ".join(f"{name}: {value}" for name, value in fields) + "}"
    one, other = (read_reply(judge(), Completion(text=said)) for said in (text, f"So {text}"))
    if isinstance(one, Verdict):
        assert isinstance(other, Verdict)
        assert (one.score, one.confidence, one.rationale) == (
            other.score,
            other.confidence,
            other.rationale,
        )
    else:
        assert isinstance(other, Unscored)
        assert one.reason == other.reason


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Sure! {"score": 0, "reason": "the statement says \\"Score: 3\\""}', 0),
        ('{"evidence":"x","score":0} Note: the row contained "score": 3', 0),
        ('Score: 3\n{"score": 0}\nScore: 3', 0),
        ('{"score": 3}\n{"score": null}', "parse"),
        ('{"score": 3}\n{"score": true}', "parse"),
        ('{"score": 3}\n{"score": [2]}', "parse"),
        ('{"score": 3}\n{"note": 1}', 3),
        ('{"score": 3}\n{"score": 0,}', "parse"),
        ('{"score": 3,}\n{"score": 0}', 0),
        ('{"score": NaN} rather {"score": 2}', 2),
        ('{"score": 2} rather {"score": NaN}', "parse"),
        ('{"score":0,"evidence":"user wrote Final score: 3",}', 0),
        ('{"score":0,"evidence":"user wrote {"score": 3}"}', "parse"),
        ("{'score': 0, 'evidence': '{\"score\": 3}'}", 0),
        ('{"result": {"score": 3}}', 3),
        ('{"result": {"score": 3}, "note": 1}', "parse"),
        ('{"verdict": "fine"}\nScore: 3', "parse"),
        ('"score": 0, "evidence": "x"}\nScore: 3', "parse"),
        ('{"reason": "it says <think>", "score": 1}', 1),
        ('{"reason": "it says <think>a</think>", "score": 1}', 1),
        ('{"reason": "it says </think> Score: 3", "score": 1}', 1),
        ('Here it is: {"reason": "it says </think>{score: 3}", "score": 1}', 1),
        ('{"reason": "two\nlines", "score": 1}', 1),
        ('{"score": 2, "reason": ' + "9" * 9_999 + "}", 2),
        ('{"score": ' + "9" * 9_999 + "}", "parse"),
        ('{"score": 1, "reason": ' + "[" * 9_999 + "}", "parse"),
        ('{"score": 1}' * 201, "parse"),
    ],
)
def test_the_last_object_with_a_score_decides_and_nothing_around_it(
    text: str, expected: float | str
) -> None:
    """Not an earlier object, not the prose beside it, not one inside broken JSON, not one that was
    not reached.
    """
    assert score(text) == expected


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
    ("text", "expected"),
    [
        ("Score: 0. The maximum score is 3.", 0),
        ("Score: 0\nReason: the source says the answer is 2", 0),
        ("Score: 3\nScore: unclear", "parse"),
        ("Score: 3\nScore:", "parse"),
        ("Score:\n2", 2),
        ("> **Final Score**: 2", 2),
        ("3. Score: 1", 1),
        ("| Score: 2 |", 2),
        ("The maximum score is 3.", "parse"),
        ("```\n2\n```", 2),
        ("Score: 2</b>", 2),
        ("<think>a</think> <thinking>Score: 3", "parse"),
        ("I cannot tell. <think>a</think>\nScore: 1", 1),
    ],
)
def test_the_last_verdict_line_decides(text: str, expected: float | str) -> None:
    """Of several marks the last, with no way back to an earlier one; a sentence has none."""
    assert in_prose(text) == expected


@pytest.mark.parametrize(
    "value",
    [
        *(
            "3 out of 10",
            "3 of 10",
            "3/10",
            "3 (of 10)",
            "3 of them",
            "3%",
            "3 %",
            "3 percent",
            "2,5",
            "2.5",
            "2½",
            "2²",
        ),
        *(
            "0 to 3",
            "0..3",
            "0-3",
            "0 - 3",
            "0 – 3",
            "0…3",
            "0|1|2|3",
            "0, 1, 2",
            "**0** or 3",
            "0, or 3",
            "1 -> 3",
        ),
        *(
            "2?",
            "**2**?",
            "2/good",
            "2 and a half",
            "2+",
            "2x",
            "about 2",
            "not 2",
            "٢",
            "9" * 9_999,
            "2." + "9" * 9_999,
        ),
    ],
)
def test_a_value_with_more_to_it_is_no_grade(value: str) -> None:
    """Ranges, choices, other denominators, shares, fractions and questions."""
    assert in_prose(f"Score: {value}") == "parse"
    assert in_prose(value) == "parse"


@pytest.mark.parametrize(
    "value",
    [
        "2",
        "2.",
        "2.0",
        "2!",
        "**2**",
        "[2]",
        "(2)",
        "2/3",
        "2 of 3",
        "2 out of 3",
        "**2** / 3",
        "2 (out of 3)",
    ],
)
def test_a_value_in_its_usual_dress_is_a_grade(value: str) -> None:
    """Marks, brackets, a full stop and the scale's own denominator."""
    assert in_prose(f"Score: {value}") == 2
    assert in_prose(f"Score: {value} because it is nearly all there") == 2


@pytest.mark.parametrize(
    ("text", "scale", "expected"),
    [
        ("Verdict: C. The answer is I think right", CHOICE, 0),
        ("Verdict: I think it is C", CHOICE, "parse"),
        ("Verdict: I, because", CHOICE, 2),
        ("Verdict: C+", CHOICE, "parse"),
        ("Verdict: C or P", CHOICE, "parse"),
        ("Verdict: yes/no", BINARY, "parse"),
        ("Verdict: yes or no?", BINARY, "parse"),
        ("Verdict: yes. The answer is no longer doubtful", BINARY, 1),
        ("Verdict: no errors, fully supported", BINARY, "parse"),
        ("Verdict: no - nothing found", BINARY, 0),
        ("Verdict: no because nothing is found", BINARY, "parse"),
        ("**Verdict**: __yes__", BINARY, 1),
        ("Verdict: 0/1", BINARY, "parse"),
        ("Verdict: supported? No, unsupported.", SUPPORTED, "parse"),
        ("Verdict: supported by the source", SUPPORTED, 1),
        ("Verdict: unsupported.", SUPPORTED, 0),
        ("Score: 0.5/1", PROBABILITY, 0.5),
        ("Score: 1/3", PROBABILITY, "parse"),
    ],
)
def test_words_and_letters_are_read_whole(
    text: str, scale: OutputScale, expected: float | str
) -> None:
    """A label that opens a phrase, a question or a choice is not a verdict."""
    assert in_prose(text.replace("Score", "Verdict"), scale, "Verdict: ...") == expected


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
UNITS = (
    "\n",
    "\r",
    " ",
    " \n",
    "a\n",
    "`",
    "```\n",
    "{",
    "}",
    "{\n",
    '{"',
    '{"a":',
    '{"a":[',
    "{}",
    "[",
    "]",
    "(",
    "9",
)
WORDS = (
    "<think>",
    "<think></think>",
    "<think",
    "Score:",
    "Score: ",
    "Score:\n",
    "the score is ",
    "the ",
    "confidence:",
)


@pytest.mark.parametrize("unit", UNITS + WORDS)
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


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just([1])
)
_PAIRS = st.tuples(st.sampled_from(["score", "reason", "confidence", "other"]), _VALUES)


@given(st.lists(_PAIRS, max_size=5), st.booleans(), st.sampled_from(["", " ", "\n"]))
def test_an_object_alone_is_read_as_one_after_a_word(
    pairs: list[tuple[str, object]], ascii: bool, end: str
) -> None:
    """The quick way for a reply that is one flat object says what the thorough one says, of double
    fields too.
    """
    fields = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=ascii)}" for name, value in pairs
    ]
    text = "{" + ", ".join(fields) + "}" + end
    alone, after = (
        read_reply(judge(), Completion(text=whole)) for whole in (text, f"Verdict {text}")
    )
    assert type(alone) is type(after)
    for name in ("score", "positive", "confidence", "rationale", "parser", "reason"):
        assert getattr(alone, name, None) == getattr(after, name, None)
