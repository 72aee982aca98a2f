"""One table of replies, read by us, by the module of an export and by the reader in JavaScript."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import JudgePrompt, OutputScale, Registry
from judgewright.judges.reply_reading import FINISHES, plain_finish
from judgewright.runs.exports import ExportContext
from judgewright.runs.exports.compare import our_outcome
from judgewright.runs.exports.reply_forms import FormOfReply, reply_forms, write_verdict

from .exported_judge import exported_judge

READER = Path(__file__).resolve().parents[3] / "runs/exports/adapters/reply_reading.mjs"
REPLIES = json.loads((Path(__file__).parent / "replies.json").read_text(encoding="utf-8"))
"""Replies with the grades that a person would read in them, and pieces to join by chance."""
READERS: dict[str, Any] = {}
"""Exported judges by version."""


def in_prose(scale: OutputScale, mark: str = "") -> JudgePrompt:
    """A judge whose reply is no JSON."""
    shipped = Registry().get("groundedness")
    return replace(shipped, reply="Say so.", reply_schema={}, reply_mark=mark, scale=scale)


STARS = OutputScale(low=1, high=5, threshold=4)
FEWER_IS_BETTER = tuple(str(share) for share in range(100, -1, -1))
PERCENTAGES = [
    in_prose(OutputScale(low=0, high=100, threshold=50), "last line"),
    in_prose(OutputScale(kind="graded", labels=FEWER_IS_BETTER, threshold=50.0), "last line"),
    in_prose(
        OutputScale(kind="graded", labels=("100", "75", "50", "25", "0"), threshold=2.0),
        "Risk: ...",
    ),
    replace(
        Registry().get("groundedness"),
        scale=OutputScale(kind="graded", labels=FEWER_IS_BETTER, threshold=50.0),
        reply_schema={"risk": "score"},
    ),
]
LOW = OutputScale(kind="probability", threshold=0.7, low_is_good=True)
LOW_JUDGES = [
    replace(Registry().get("diras_probability"), scale=LOW),
    in_prose(LOW),
    in_prose(LOW, "Risk: ..."),
]
JUDGES = [
    *map(Registry().get, ("groundedness", "answerability", "routing", "diras_probability")),
    in_prose(OutputScale()),
    in_prose(OutputScale(kind="binary", labels=("FAIL", "PASS"), threshold=1.0), "start"),
    in_prose(
        OutputScale(kind="graded", labels=("F", "D", "C", "B", "A"), threshold=2.0), "last line"
    ),
    in_prose(OutputScale(kind="binary", labels=("true", "false"), threshold=1.0), "last line"),
    in_prose(OutputScale(kind="binary", labels=("sí", "no"), threshold=1.0), "start"),
    replace(
        Registry().get("groundedness"),
        scale=OutputScale(kind="binary", labels=("1", "0"), threshold=1.0),
        reply_schema={"hallucinated": "score", "why": "text"},
    ),
    replace(
        Registry().get("groundedness"),
        scale=OutputScale(kind="binary", labels=("true", "false"), threshold=1.0),
        reply_schema={"contains_pii": "score"},
    ),
    in_prose(STARS, "[[...]]"),
    in_prose(STARS, "Bewertung: ..."),
    in_prose(STARS, "<stars>...</stars>"),
    in_prose(STARS, "评分：..."),
    in_prose(OutputScale(kind="graded", labels=("1,5", "1", "0,5"), threshold=1.0), "last line"),
    *PERCENTAGES,
    in_prose(OutputScale(kind="choice", labels=("gut", "mäßig", "no good"), threshold=1.0)),
    replace(Registry().get("groundedness"), reply_schema={"why": "text", "result.score": "score"}),
    replace(
        Registry().get("groundedness"),
        scale=OutputScale(kind="graded", labels=("0", "0.5", "1"), threshold=1.0),
        reply_schema={"score": "score"},
    ),
    *LOW_JUDGES,
]


def in_javascript(cases: list[tuple[JudgePrompt, FormOfReply]], folder: Path) -> list[float | None]:
    """The scores that the reader in JavaScript gives, in one process."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = folder / "read.mjs"
    script.write_text(f"""
import {{ readFileSync }} from 'node:fs';
import {{ readReply }} from {json.dumps(READER.as_uri())};
const scores = [];
const {{ forms, replies }} = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for (const [judge, text, ending, refusal] of replies) {{
  try {{ scores.push(readReply(text, forms[judge], ending, refusal).score); }} catch (problem) {{
    if (!problem.reason) throw problem;
    scores.push(null);
  }}
}}
console.log(JSON.stringify(scores));
""")
    told = []
    for judge, form in cases:
        ending = "tool_calls" if form.calls_tool else form.finish_reason or ""
        told.append([judge.version, form.content, ending, form.refusal])
    forms = {judge.version: judge.reply_form for judge, _ in cases}
    (folder / "cases.json").write_text(json.dumps({"forms": forms, "replies": told}))
    ran = subprocess.run(
        [node, script, folder / "cases.json"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout)


def ours(judge: JudgePrompt, form: FormOfReply) -> float | None:
    """The score that Judgewright gives."""
    return our_outcome(ExportContext(prompt=judge, rule=judge.rule, provenance={}), form).score


def exported(judge: JudgePrompt, form: FormOfReply) -> float | None:
    """The score that an export gives to the endpoint's answer."""
    if judge.version not in READERS:
        context = ExportContext(prompt=judge, rule=judge.rule, provenance={})
        READERS[judge.version] = exported_judge(context)
    try:
        return READERS[judge.version].read_completion(form.body())[0]
    except ValueError:
        return None


def require_read(
    cases: list[tuple[JudgePrompt, FormOfReply]], wanted: list[float | None], folder: Path
) -> None:
    """All three readers give these grades; None is none."""
    readers = (
        [ours(*case) for case in cases],
        [exported(*case) for case in cases],
        in_javascript(cases, folder),
    )
    names = [(judge.reply_form, form.name, form.content) for judge, form in cases]
    for scores in readers:
        assert list(zip(names, scores, strict=True)) == list(zip(names, wanted, strict=True))


def test_each_form_of_reply_says_what_a_person_would_say_that_it_says(tmp_path: Path) -> None:
    """All three readers agree with the table above."""
    judge = JUDGES[0]
    forms = [form for form in reply_forms(judge) if not form.name.startswith("grade ")]
    assert len({form.name for form in forms}) == len(forms) == 68
    grades = dict.fromkeys(REPLIES["forms_with_the_highest"], 3.0)
    grades |= dict.fromkeys(REPLIES["forms_with_the_lowest"], 0.0)
    assert {form.name for form in forms} >= grades.keys()
    wanted = [grades.get(form.name) for form in forms]
    require_read([(judge, form) for form in forms], wanted, tmp_path)


def test_a_percentage_is_read_wherever_grades_go_from_0_to_100(tmp_path: Path) -> None:
    """Also where 0 is the best, only some of the numbers are grades, or the value is text in
    JSON.
    """
    cases, wanted = [], []
    for judge in PERCENTAGES:
        for share in (0, 25, 100):
            names = judge.scale.labels
            for value in (f"{share}%", f"{share} %", f"{share}％"):
                text = json.dumps({"risk": value}) if judge.reply_schema else f"Risk: {value}"
                cases.append((judge, FormOfReply(name=value, content=text)))
                wanted.append(float(names.index(str(share)) if names else share))
    require_read(cases, wanted, tmp_path)


def cases_of_the_table() -> list[tuple[JudgePrompt, str, float | None]]:
    """Replies that go on by themselves, and replies that are nearly JSON."""
    cases = [(JUDGES[0], *case) for case in REPLIES["groundedness"].values()]
    judges = {}
    for name, of in REPLIES["judges"].items():
        labels = tuple(of.get("labels", ()))
        passing = OutputScale(kind="binary", labels=labels, threshold=1.0)
        scale = passing if labels else OutputScale(low=of["low"], high=of["high"], threshold=3)
        judges[name] = replace(in_prose(scale, of["mark"]), template="Text:\n{{text}}")
    return cases + [(judges[name], *case) for name, *case in REPLIES["prose"]]


def test_a_reply_ends_with_its_turn_and_is_mended_where_one_reading_is_left(tmp_path: Path) -> None:
    """By all three readers: marks of chat templates, heads of the prompt, thinking, and JSON as
    people write it.
    """
    cases = cases_of_the_table()
    forms = [(judge, FormOfReply(name=text, content=text)) for judge, text, _ in cases]
    require_read(forms, [grade for *_, grade in cases], tmp_path)


def test_a_text_that_is_no_text_of_json_after_all_has_no_verdict(tmp_path: Path) -> None:
    """One that goes on after its end, with the same name or with lists a thousand deep, also in a
    field of a call.
    """
    deep = "[" * 20_000
    texts = ('"a","":"b"', f'"a","b":{deep}', json.dumps({"arguments": f'{{"a":{deep}'}))
    cases = [
        (judge, FormOfReply(name=text[:9], content=text))
        for text in texts
        for judge in (JUDGES[0], JUDGES[4])
    ]
    nothing = [None] * len(cases)
    require_read(cases, nothing, tmp_path)


ENDINGS = (
    "{}",
    " {} ",
    "FinishReason.{}",
    "finish_reason_{}",
    "STOP_REASON_{}",
    "x:{}",
    "{}_",
    "{}?",
)


def test_all_readers_know_the_same_endings(tmp_path: Path) -> None:
    """Each word for an end of a reply, as endpoints and their packages spell it, and words that are
    none.
    """
    failed = ("error", "abort", "insufficient_system_resource")
    words = [*FINISHES, *failed, "max-tokens", "END_TURN", "guardrail_intervened"]
    good = write_verdict(JUDGES[0], 3.0)
    cases = []
    for word in words:
        for ending in ENDINGS:
            spelled = ending.format(word)
            for one in (spelled, spelled.upper()):
                cases.append((JUDGES[0], FormOfReply(name=one, content=good, finish_reason=one)))
    # What the client tries again, because the endpoint failed, is no verdict where a tool hands it
    # on.
    wanted = [
        3.0 if plain_finish(form.finish_reason or "") == "stop" else None for _, form in cases
    ]
    assert wanted.count(3.0) > 100
    assert [exported(*case) for case in cases] == wanted
    assert in_javascript(cases, tmp_path) == wanted


def test_points_in_chinese_and_objects_in_the_place_of_prose(tmp_path: Path) -> None:
    """An object that is all of a reply is read where one of its values is a label; one that stands
    in a sentence is not.
    """
    cases = [
        (in_prose(STARS, "评分：..."), text, grade) for text, grade in REPLIES["points"].items()
    ]
    binary = OutputScale(kind="binary", labels=("FAIL", "PASS"), threshold=1.0)
    cases += [
        (in_prose(binary, mark), text, grade)
        for mark, of in REPLIES["marks"].items()
        for text, grade in of.items()
    ]
    wanted = [grade for _, _, grade in cases]
    forms = [(judge, FormOfReply(name=text, content=text)) for judge, text, _ in cases]
    require_read(forms, wanted, tmp_path)


def test_of_a_probability_of_which_low_is_good_all_readers_give_one_minus_it(
    tmp_path: Path,
) -> None:
    """To the last bit, with the threshold, and without turning what is not on the scale onto it."""
    chance = random.Random(11)
    numbers = [
        0.0,
        0.3,
        0.30000000000000004,
        0.7,
        0.9,
        1.0,
        0.1 + 0.2,
        *(chance.random() for _ in range(300)),
    ]
    numbers += [chance.randrange(10**k + 1) / 10**k for k in range(1, 13) for _ in range(20)]
    json_judge = LOW_JUDGES[0]
    cases = [
        (json_judge, FormOfReply(name="", content=json.dumps({"score": number})))
        for number in numbers
    ]
    wanted: list[float | None] = [json_judge.scale.written(number) for number in numbers]
    assert wanted[:6] == [1.0, 0.7, 0.7, 0.3, 0.1, 0.0]
    grades = [n / 1000 for n in range(1001)]
    for judge in LOW_JUDGES:
        cases += [
            (judge, FormOfReply(name="", content=write_verdict(judge, grade))) for grade in grades
        ]
        wanted += grades
    for outside in ("-0.1", "1.1", "2"):
        cases += [
            (judge, FormOfReply(name="", content=f"Score: {outside}")) for judge in LOW_JUDGES
        ]
        wanted += [None] * len(LOW_JUDGES)
    require_read(cases, wanted, tmp_path)
    context = ExportContext(prompt=json_judge, rule=json_judge.rule, provenance={})
    sides = [
        our_outcome(context, form).positive for judge, form in cases[:3] if judge is json_judge
    ]
    assert sides == [True, True, True]


def test_a_form_without_the_field_is_read_as_it_was(tmp_path: Path) -> None:
    """Exports that were written before there was one."""
    judge = replace(LOW_JUDGES[0], scale=replace(LOW, low_is_good=False))
    assert "low_is_good" not in judge.reply_form
    case = (judge, FormOfReply(name="", content='{"score": 0.3}'))
    assert [ours(*case), exported(*case), *in_javascript([case], tmp_path)] == [0.3] * 3


def test_three_readers_read_every_judges_replies_alike(tmp_path: Path) -> None:
    """Every form for thirteen judges, and two hundred replies each that were put together by
    chance.
    """
    chance = random.Random(7)
    cases = []
    for judge in JUDGES:
        forms = reply_forms(judge)
        for _ in range(200):
            pieces = [chance.choice(REPLIES["pieces"]) for _ in range(chance.randrange(1, 9))]
            if chance.random() < 0.5:
                grade = chance.choice(judge.scale.levels or (0.5,))
                pieces.insert(chance.randrange(len(pieces) + 1), write_verdict(judge, grade))
            forms.append(FormOfReply(name="by chance", content="".join(pieces)))
        cases += [(judge, form) for form in forms]
    wanted = [ours(*case) for case in cases]
    assert sum(score is not None for score in wanted) > len(cases) // 4
    require_read(cases, wanted, tmp_path)
