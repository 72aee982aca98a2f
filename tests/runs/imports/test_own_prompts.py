"""Prompts as people write them: what a reader answered of each is recorded, and the judge that it
becomes is the one that they meant.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError, JudgePrompt, Row, load_prompt, response_format
from judgewright.runs.exports import TARGETS, ExportContext, write_export
from judgewright.runs.imports import AddOptions, read_back, read_own_prompts, understand

from .recorded import FOLDER, READINGS, file_of, in_short, kept_cases, score, understood

KEPT = {name: (place, case) for name, place, case in kept_cases()}
ASKED = {
    "fresh/toneGrader.js": ["fill"],  # the file fills it with a constant of another place
    "fresh/refusal_judge.txt": ["scale"],  # nobody says whether refusing is good
    "forms/helm_style": ["scale"],  # nor whether ice is
    "forms/metric_of_mlflow": ["field"],  # the fields of make_genai_metric stand in no text
    "forms/two_measures": ["scale"],
    "forms/score_and_pass_ask": ["verdict"],
    "fresh/promptfoo_rubricprompt.yml": ["verdict"],  # pass or score
    "apart/ocena_rozmow_infolinia.md": ["field"],  # a message of its own has the row
    "apart/qualita_chiamate.txt": ["field"],
    "apart/meeting_summary_eval.md": ["scale"],
    "apart/wiki_answer_quality.txt": ["scale"],
    "apart/langsmith_hub_escalation.json": ["scale"],  # a handbook says which level is bad
    "apart/feedbackEleve.ts": ["verdict"],
    "apart/traducao_bula.md": ["verdict"],
    "apart/discharge_letter_review.py": ["scale"],  # no verdict is asked for
    "apart/tour_proposal_feedback.md": ["scale", "verdict"],
    "apart/sql_judge.py": ["fill", "criteria"],  # {{key}} is text of the prompt
    "apart/smsTranslationCheck.js": ["scale", "criteria"],  # of two strings the wrong one
    "forms/threshold_elsewhere": ["scale"],  # the environment says what passes
}
"""What is asked though the reading is there; of all others nothing is."""
READ_ANYWAY = {
    "forms/more_j": "none<some<most<all",
    "forms/more_h": "5<4<3<2<1<0",
    "forms/refusal_labels": "COMPLIED<PARTIAL<REFUSED",
    "forms/unknown_order": "choice invoice,complaint,question",
    "forms/risk_unsaid": "4<3<2<1",
}
"""What rules had to ask about, and a reader took from the words."""
WHOLE = [
    name
    for name in READINGS["kept"]
    if name not in ASKED and not name.startswith(("forms/", "apart/"))
]


def judge_of(name: str, folder: Path) -> JudgePrompt:
    """The judge that a kept prompt becomes."""
    place, case = KEPT[name]
    found, _ = understood(file_of(place, case, folder), READINGS["kept"][name])
    assert found.prompt is not None, found.questions
    return found.prompt


def expected_scale(case: dict[str, Any], prompt: JudgePrompt) -> tuple[object, object]:
    """The scale that is meant, and what is there of it."""
    meant = case["scale"]
    if isinstance(meant, str):
        return meant, in_short(prompt.scale)
    there = {name: getattr(prompt.scale, name) for name in meant}
    lists = {name: list(v) if isinstance(v, tuple) else v for name, v in there.items()}
    return meant, lists


@pytest.mark.parametrize("name", READINGS["kept"])
def test_a_reading_makes_the_judge_that_is_meant(name: str, tmp_path: Path) -> None:
    """Inputs, scale, threshold and criteria are those of the words, and typical answers have their
    grades.
    """
    place, case = KEPT[name]
    found, reading = understood(file_of(place, case, tmp_path), READINGS["kept"][name])
    assert reading.unfounded == ()
    assert [question.option for question in found.questions] == ASKED.get(name, [])
    prompt = found.prompt
    if prompt is None:
        return
    if name in READ_ANYWAY:
        assert in_short(prompt.scale) == READ_ANYWAY[name]
        return
    assert set(prompt.inputs) == set(case["inputs"])
    meant, there = expected_scale(case, prompt)
    assert there == meant
    scale = prompt.scale
    if "from" in case:
        least = scale.labels[int(scale.threshold)] if scale.labels else scale.threshold
        assert least == case["from"]
    assert case.get("criteria", "") in prompt.criteria
    assert [other for other in case.get("others", ()) if other in prompt.criteria] == []
    grades = [score(prompt, reply) for reply, _ in case["answers"]]
    assert grades == [grade for _, grade in case["answers"]]


def test_without_a_model_nothing_of_the_words_is_guessed(tmp_path: Path) -> None:
    """Of all kept prompts: where no tool fixes it, answers, place of the verdict and criteria are
    asked.
    """
    for name, place, case in kept_cases():
        path = file_of(place, case, tmp_path)
        try:
            judges = read_own_prompts(path, case.get("string"))
        except InputError:
            continue  # it computes something, or is a tool's object that cannot be told
        for judge in judges:
            found = understand(judge, AddOptions())
            asked = {question.option for question in found.questions}
            if not judge.scale:
                assert asked & {"scale", "labels"}, name
            if not judge.reply_schema:
                assert "verdict" in asked, name
            if not judge.criteria:
                assert "criteria" in asked, name


@pytest.mark.parametrize("name", WHOLE)
def test_its_words_are_sent_in_their_order(name: str, tmp_path: Path) -> None:
    """All that a text says is sent; but for criteria that stood after the row in its order."""
    prompt = judge_of(name, tmp_path)
    row = Row(id="r", inputs={field: f"<<{field}>>" for field in prompt.inputs})
    sent = "\n".join(str(message.content) for message in prompt.messages(row))
    sent = re.sub(r"</?([A-Za-z_]\w*)-[0-9a-f]{8}>", " ", sent)
    place, _ = KEPT[name]
    assert isinstance(place, Path)
    if place.suffix != ".txt" or "[REPLY]" in place.read_text(encoding="utf-8"):
        assert prompt.criteria in sent
        return
    text = place.read_text(encoding="utf-8")
    for field in prompt.inputs:
        text = text.replace(f"{{{{{field}}}}}", f"<<{field}>>")
        text = text.replace(f"{{{field}}}", f"<<{field}>>")
    expected = text.split()
    words = iter(sent.split())
    moved = "stand after a field" in prompt.note
    assert moved or all(word in words for word in expected)
    assert set(expected) <= set(sent.split())


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("target", ["python", "promptfoo", "yaml"])
def test_it_goes_out_and_comes_home(target: str, name: str, tmp_path: Path) -> None:
    """Saved, exported and imported it is one version."""
    prompt = judge_of(name, tmp_path)
    assert load_prompt(prompt.to_yaml()) == prompt
    if target == "promptfoo" and "output" in prompt.inputs:  # promptfoo sets it itself
        return
    context = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    write_export(context, TARGETS[target], tmp_path / "out")
    assert read_back(tmp_path / "out").prompt.version == prompt.version


def test_a_nested_answer_has_a_nested_schema(tmp_path: Path) -> None:
    """Where an endpoint holds the model to a schema, it is that of the user's own JSON."""
    path = FOLDER / "24_nested.txt"
    options = AddOptions(
        criteria="helpful",
        verdict="evaluation.score",
        reply_fields=("evaluation.reason", "evaluation.score"),
        labels=("1", "2", "3"),
    )
    text = path.read_text(encoding="utf-8").replace("\r", "")
    copy = tmp_path / "nested.txt"
    copy.write_text(f"helpful\n\n{text}", encoding="utf-8")
    prompt = understand(read_own_prompts(copy)[0], options).prompt
    assert prompt is not None
    form = response_format(prompt)
    assert form is not None
    inner = form["json_schema"]["schema"]["properties"]["evaluation"]
    assert list(inner["properties"]) == ["reason", "score"]


PUBLIC = Path(__file__).resolve().parents[3] / "../shared/cases/P_prompts"
FORMS = {
    "toolcall.txt": ({}, "Grade: ...", "FAIL<PASS"),
    "braces2.txt": ({}, "Verdict: ...", "FAIL<PASS"),
    "jsonbraces.txt": ({"reason": "text", "verdict.value": "score"}, "", "FAIL<PASS"),
    "vertex_pair.txt": ({"pairwise_choice": "score"}, "", "choice A,SAME,B"),
    "phoenix_choices.py": ({"reason": "text", "score": "score"}, "", "hallucinated<factual"),
    "langfuse_ranges.json": ({"reasoning": "text", "score": "score"}, "", "1..5"),
    "azure.prompty": ({}, "<S2>...</S2>", "1..5"),
    "chinese.txt": ({}, "评分：...", "1..5"),
    "german.txt": ({}, "Note: ...", "6<5<4<3<2<1"),
    "phoenix.txt": ({}, "start", "hallucinated<factual"),
    "prometheus.txt": ({}, "[RESULT] ...", "1..5"),
    "summary_flask.txt": ({}, "Consistency: ...", "1..5"),
}
"""How the answer is marked, and its scale."""


@pytest.mark.parametrize("name", FORMS)
def test_public_forms_of_prompts(name: str) -> None:
    """An object among the rules is no form of the answer, and what a file says beside its prompt is
    read.
    """
    if not PUBLIC.is_dir():
        pytest.skip("the shared cases are not on this machine")
    found, reading = understood(PUBLIC / name, READINGS["cases"][name])
    assert (found.questions, reading.unfounded) == ((), ())
    assert found.prompt is not None
    schema, mark, scale = FORMS[name]
    assert dict(found.prompt.reply_schema) == schema
    assert found.prompt.reply_mark == mark
    assert in_short(found.prompt.scale) == scale
