"""Judges that tools saved, configured or built in code: what the tool fixes is known, the rest is
asked.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.runs.imports import AddOptions, Understood, read_own_prompts, understand

from ...runs.imports.recorded import score


def known_of(folder: Path, name: str, text: str, **options: object) -> Understood:
    """What is known of a file's judge."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return understand(read_own_prompts(path)[0], AddOptions(**options))  # pyright: ignore[reportArgumentType]


def asked(found: Understood) -> list[str]:
    """The options that are asked for."""
    return [question.option for question in found.questions]


@pytest.mark.parametrize("form", ["f-string", "mustache", "jinja2"])
def test_a_langchain_prompt_is_read_without_langchain(form: str, tmp_path: Path) -> None:
    """Each template format it knows, system and human messages, partial variables filled."""
    left, right = ("{", "}") if form == "f-string" else ("{{", "}}")

    def message(kind: str, template: str) -> dict[str, object]:
        kwargs = {"template": template, "template_format": form, "input_variables": []}
        inner = {"type": "constructor", "id": ["langchain", "PromptTemplate"], "kwargs": kwargs}
        return {"type": "constructor", "id": ["langchain", kind], "kwargs": {"prompt": inner}}

    messages = [
        message("SystemMessagePromptTemplate", f"You judge {left}what{right}.\n\nBe strict."),
        message("HumanMessagePromptTemplate", f"Q: {left}q{right}\nA: {left}a{right}\n\nyes or no"),
    ]
    body = {"type": "constructor", "id": ["langchain", "ChatPromptTemplate"]}
    body["kwargs"] = {"messages": messages, "partial_variables": {"what": "answers"}}
    found = known_of(
        tmp_path,
        "p.json",
        json.dumps(body),
        labels=("no", "yes"),
        verdict="start",
        criteria="Be strict.",
    )
    assert found.prompt is not None
    assert found.prompt.system.startswith("You judge answers.")
    assert found.prompt.template == "Q: {{q}}\nA: {{a}}"
    assert score(found.prompt, "yes") == 1.0


PROMPTFOO = """\
defaultTest:
  options:
    rubricPrompt: |-
      You grade outputs.

      Rubric: {{ rubric }}

      Output: {{ output }}

      Reply with JSON: {"reason": "why", "score": a number between 0 and 1}
  assert:
    - type: llm-rubric
      value: It answers the question.
      threshold: 0.7
"""


def test_a_promptfoo_rubric_carries_its_threshold(tmp_path: Path) -> None:
    """The rubric stands in the grader's prompt as its criteria, and the threshold decides."""
    found = known_of(
        tmp_path, "c.yaml", PROMPTFOO, verdict="score", reply_fields=("reason", "score")
    )
    assert found.prompt is not None
    assert found.prompt.inputs == ("output",)
    assert found.prompt.criteria == "It answers the question."
    assert (found.scale and found.scale.kind, found.scale and found.scale.threshold) == (
        "probability",
        0.7,
    )
    assert score(found.prompt, '{"reason": "r", "score": 0.4}') == 0.4


def test_a_promptfoo_rubric_without_threshold_says_so(tmp_path: Path) -> None:
    """There every reply that can be read passes; here the threshold is a half."""
    text = PROMPTFOO.replace("      threshold: 0.7\n", "")
    assert "Without a threshold" in known_of(tmp_path, "c.yaml", text).notes[0]


def test_a_promptfoo_rubric_alone_is_asked_for_by_promptfoo(tmp_path: Path) -> None:
    """Its words round the rubric stand in no file: a sentence of ours asks for the score."""
    rubric = {"type": "llm-rubric", "value": "The reply names the day.", "threshold": 1}
    body = {"prompts": ["{{q}}"], "tests": [{"assert": [rubric]}]}
    found = known_of(tmp_path, "c.json", json.dumps(body))
    assert found.prompt is not None
    assert '"score": a number from 0 to 1' in found.prompt.reply


def test_a_file_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    """`file://` is read in the folder of the configuration and nowhere else."""
    (tmp_path / "check.txt").write_text("Is it kind?\n\n{{reply}}", encoding="utf-8")
    config = "prompts: ['file://check.txt']\ntests: [{assert: []}]\n"
    assert known_of(tmp_path, "c.yaml", config).fields == {"reply": "reply"}
    with pytest.raises(InputError, match="outside the folder"):
        known_of(tmp_path, "c.yaml", config.replace("check.txt", "../check.txt"))


GRADED = """\
tests:
  - assert:
      - {type: llm-rubric, value: The reply is kind.}
      - {type: llm-rubric, value: The reply names the day.}
"""


def test_a_name_that_no_saved_judge_has_is_refused_with_the_names(tmp_path: Path) -> None:
    """The file is not read again as plain keys; a single judge has no name."""
    several, one = tmp_path / "several.yaml", tmp_path / "one.yaml"
    several.write_text(GRADED, encoding="utf-8")
    one.write_text(PROMPTFOO, encoding="utf-8")
    assert [judge.string for judge in read_own_prompts(several, "assert 2")] == ["assert 2"]
    for path, names in ((several, "assert 1, assert 2"), (one, "none")):
        with pytest.raises(InputError, match="there is no string 'assert 3' in it") as caught:
            read_own_prompts(path, "assert 3")
        assert caught.value.hint == f"its strings: {names}"


MLFLOW = {
    "instructions": "Does {{ outputs }} answer what {{ inputs }} asks?\n\nSmall talk is fine.",
    "model": "openai:/gpt-5-mini",
    "feedback_value_type": {"enum": ["no", "yes"], "type": "string"},
}


def test_instructions_of_mlflow_name_the_fields_and_the_row_follows(tmp_path: Path) -> None:
    """MLflow sends no row's text inside its instructions, and all of them may be edited."""
    text = json.dumps({"name": "desk", "instructions_judge_pydantic_data": MLFLOW})
    assert asked(known_of(tmp_path, "a.json", text)) == ["labels"]
    found = known_of(tmp_path, "a.json", text, fields={"inputs": "q"}, labels=("no", "yes"))
    assert found.prompt is not None
    assert found.prompt.criteria == "Does outputs answer what inputs asks?\n\nSmall talk is fine."
    assert found.prompt.template == "outputs:\n{{outputs}}\n\ninputs:\n{{q}}"


def test_guidelines_that_mlflow_learnt_stand_behind_its_instructions(tmp_path: Path) -> None:
    """A judge aligned by memory keeps them apart; a missing part of it is said."""
    memory = {
        "base_judge": {"name": "desk", "instructions_judge_pydantic_data": MLFLOW},
        "episodic_trace_ids": ["tr-1"],
        "semantic_memory": [{"guideline_text": "Refunds are never promised."}],
    }
    text = json.dumps({"name": "desk", "memory_augmented_judge_data": memory})
    found = known_of(tmp_path, "a.json", text, labels=("no", "yes"))
    assert found.prompt is not None
    assert found.prompt.criteria.endswith("Guidelines:\n- Refunds are never promised.")
    assert "The examples that MLflow looks up for each row are not here." in found.notes


GEVAL = """
from deepeval.metrics import GEval
from deepeval.test_case import LLMTestCaseParams as P
kind = GEval(name="Kind", criteria="The reply is kind.", threshold=float(input()),
             evaluation_params=[P.INPUT, P.ACTUAL_OUTPUT])
"""


def test_what_code_computes_is_refused_with_its_line(tmp_path: Path) -> None:
    """A threshold that cannot be told is none of ours."""
    with pytest.raises(InputError, match="line 4"):
        known_of(tmp_path, "judge.py", GEVAL)
