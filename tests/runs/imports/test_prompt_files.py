"""Judges in files: plain text, UMBRELA, LangChain and promptfoo, in words of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import Completion, InputError, OutputScale, Verdict, load_prompt, read_reply
from judgewright.runs.exports import TARGETS, ExportContext, write_export
from judgewright.runs.imports import (
    AddOptions,
    ImportOptions,
    import_judge,
    read_back,
    read_own_prompt,
    understand,
)

TEXT = """\
You compare a claim with a document.

A claim that the document says is right. Mind the numbers.

Document: {document}
Claim: {claim}

Answer with the line "Score: N", N being a whole number from 1 to 5.
"""


def written(folder: Path, text: str, name: str = "judge.txt") -> str:
    """The path of a file with a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def verdict(prompt, reply: str) -> float | None:
    """The grade our reader finds in a reply."""
    answer = read_reply(prompt, Completion(text=reply))
    return answer.score if isinstance(answer, Verdict) else None


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("{", "{{").replace("}", "}}")])
def test_a_plain_text_becomes_a_judge(text: str, tmp_path: Path) -> None:
    """System, criteria, template and reply are cut where the row stands; fields and scale are
    ours.
    """
    prompt = import_judge("file", written(tmp_path, text)).prompt
    assert prompt.system == "You compare a claim with a document."
    assert prompt.criteria == "A claim that the document says is right. Mind the numbers."
    assert prompt.template == "Document: {{source}}\nClaim: {{statement}}"
    assert prompt.reply.startswith("Answer with the line")
    assert (prompt.scale.low, prompt.scale.high, prompt.scale.threshold) == (1, 5, 3.0)
    assert verdict(prompt, "Because.\nScore: 4") == 4.0
    assert "Reply clause replaced" not in prompt.note
    assert "Its field document is source here." in prompt.note


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_an_imported_judge_goes_out_and_comes_home(target: str, tmp_path: Path) -> None:
    """Import, export, import: one version."""
    prompt = import_judge(
        "file", written(tmp_path, TEXT.replace("Score: N", '{"score": N}'))
    ).prompt
    write_export(
        ExportContext(prompt=prompt, rule=prompt.rule, provenance={}),
        TARGETS[target],
        tmp_path / "out",
    )
    assert read_back(tmp_path / "out").prompt.version == prompt.version


def test_a_reply_nobody_can_read_is_replaced_and_said(tmp_path: Path) -> None:
    """Our clause comes last; the file's words before it stay, and the note says so."""
    text = TEXT.replace('the line "Score: N", N being a whole number from 1 to 5.', "a drawing.")
    options = ImportOptions(scale=OutputScale(low=1, high=5))
    prompt = import_judge("file", written(tmp_path, text), options=options).prompt
    assert prompt.reply.startswith("Answer with a drawing.")
    assert "Reply clause replaced" in prompt.note
    assert verdict(prompt, '{"reason": "r", "score": 4}') == 4.0


def test_options_name_fields_fill_them_and_set_the_scale(tmp_path: Path) -> None:
    """A filled field is literal text in every row; names and scale are as said."""
    options = ImportOptions(
        name="mine",
        fields={"claim": "sentence"},
        fills={"document": "The sky."},
        scale=OutputScale(low=0, high=9),
    )
    prompt = import_judge("file", written(tmp_path, TEXT), options=options).prompt
    assert (prompt.name, prompt.inputs, prompt.scale.high) == ("mine", ("sentence",), 9)
    assert "The sky." in prompt.criteria + prompt.template


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("No field. Score: 0 to 3", ImportOptions(), "no field for a row"),
        ("How good is {answer}?", ImportOptions(), "on what scale"),
        (TEXT, ImportOptions(fields={"nothing": "x"}), "no field 'nothing'"),
        (TEXT, ImportOptions(fills={"nothing": "x"}), "no field 'nothing'"),
        (TEXT, ImportOptions(fields={"claim": "source", "document": "source"}), "both be 'source'"),
        (TEXT, ImportOptions(fields={"claim": "A b"}), "cannot be the name of a field"),
        (TEXT, ImportOptions(fills={"claim": "{{x}}"}), "braces that would be read as fields"),
    ],
)
def test_what_cannot_be_a_judge_is_refused(
    text: str, options: ImportOptions, reason: str, tmp_path: Path
) -> None:
    """The reason says what is missing."""
    with pytest.raises(InputError, match=reason):
        import_judge("file", written(tmp_path, text), options=options)


@pytest.mark.parametrize(
    ("close", "reply", "schema"),
    [
        (
            "Weigh match (M), trust (T), decide (O). ##final score: a number.",
            "##final score: 2",
            {},
        ),
        (
            "Weigh match (M), trust (T), decide (O). A JSON object.",
            '{"M": 1, "T": 2, "O": 2}',
            {"M", "T", "O"},
        ),
    ],
)
@pytest.mark.parametrize("suffix", ["txt", "yaml"])
def test_an_umbrela_prompt_is_graded_from_0_to_3(
    suffix, close, reply, schema, tmp_path: Path
) -> None:
    """Its two forms of reply are read as they are; examples are left out unless they are given."""
    body = (
        "Grade it.\n\nSome examples: {examples}\n\nQuery: {query}\nPassage:"
        f" {{passage}}\n\n{close}"
    )
    indented = body.replace("\n", "\n  ")
    text = (
        body
        if suffix == "txt"
        else f"method: m\nsystem_message: ''\nprefix_user: |-\n  {indented}\n"
    )
    found = import_judge("umbrela", written(tmp_path, text, f"mine.{suffix}"))
    assert found.prompt.inputs == ("query", "passage")
    assert (found.prompt.scale.low, found.prompt.scale.high) == (0, 3)
    assert set(found.prompt.reply_schema) == set(schema)
    assert verdict(found.prompt, reply) == 2.0
    assert "Its field examples is left empty in every row." in found.differences


@pytest.mark.parametrize("form", ["f-string", "mustache", "jinja2"])
def test_a_langchain_prompt_is_read_without_langchain(form: str, tmp_path: Path) -> None:
    """Each template format it knows, system and human messages, partial variables filled."""
    left, right = ("{", "}") if form == "f-string" else ("{{", "}}")

    def message(kind: str, template: str) -> dict[str, object]:
        kwargs = {"template": template, "template_format": form, "input_variables": []}
        inner = {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "PromptTemplate"],
            "kwargs": kwargs,
        }
        return {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", kind],
            "kwargs": {"prompt": inner},
        }

    messages = [
        message("SystemMessagePromptTemplate", f"You judge {left}what{right}.\n\nBe strict."),
        message(
            "HumanMessagePromptTemplate",
            f"Q: {left}question{right}\nA: {left}answer{right}\n\nOnly yes or no.",
        ),
    ]
    body = {"lc": 1, "type": "constructor", "id": ["langchain", "ChatPromptTemplate"]}
    body["kwargs"] = {"messages": messages, "partial_variables": {"what": "answers"}}
    prompt = import_judge("langchain", written(tmp_path, json.dumps(body), "p.json")).prompt
    assert prompt.system == "You judge answers."
    assert prompt.template == "Q: {{query}}\nA: {{answer}}"
    assert prompt.scale.labels == ("no", "yes")
    assert verdict(prompt, "yes") == 1.0


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
      value: It answers {{ question }}.
      threshold: 0.7
"""


def test_a_promptfoo_rubric_carries_its_threshold(tmp_path: Path) -> None:
    """The rubric stands in the grader's prompt with its own variables, and the threshold
    decides.
    """
    prompt = import_judge("promptfoo", written(tmp_path, PROMPTFOO, "promptfooconfig.yaml")).prompt
    assert prompt.inputs == ("query", "answer")
    assert "It answers {{query}}." in prompt.template
    assert (prompt.scale.kind, prompt.scale.threshold) == ("probability", 0.7)
    assert verdict(prompt, '{"reason": "r", "score": 0.4}') == 0.4


def test_a_promptfoo_rubric_without_threshold_says_so(tmp_path: Path) -> None:
    """There every reply that can be read passes; here the threshold is a half."""
    text = PROMPTFOO.replace("      threshold: 0.7\n", "")
    prompt = import_judge("promptfoo", written(tmp_path, text, "c.yaml")).prompt
    assert "Without a threshold" in prompt.note


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("rubricPrompt", "other", "no rubricPrompt"),
        ("rubricPrompt: |-", "rubricPrompt: file://../x.json", "outside"),
    ],
)
def test_a_promptfoo_file_without_a_prompt_of_its_own_is_refused(
    old, new, reason, tmp_path: Path
) -> None:
    """promptfoo's own words stand in no file; a file outside the folder is not read."""
    text = PROMPTFOO.replace(old, new)
    if "file://" in new:
        text = text.split("      You grade")[0] + "  assert: []\n"
    with pytest.raises(InputError, match=reason):
        import_judge("promptfoo", written(tmp_path, text, "c.yaml"))


def test_a_prompt_file_of_ours_is_itself(tmp_path: Path) -> None:
    """YAML of ours needs no converting."""
    prompt = import_judge("file", written(tmp_path, TEXT)).prompt
    assert import_judge("file", written(tmp_path, prompt.to_yaml(), "p.yaml")).prompt == prompt
    assert load_prompt(prompt.to_yaml()) == prompt


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ("Set pass to true only if all of it holds.", "pass"),
        ('`pass` must be "false" where one thing is missing.', "pass"),
        ("Set the `ok` field to true where it holds.", "ok"),
        ("It holds or it does not.", "score"),
    ],
)
def test_a_field_that_the_rubric_sets_to_true_holds_the_verdict(
    tmp_path: Path, words: str, field: str
) -> None:
    """A grader's own score beside it is none of the two labels."""
    rubric = f"The reply names the delivery day. It promises no discount. {words}"
    body = {
        "prompts": ["{{q}}"],
        "defaultTest": {"assert": [{"type": "llm-rubric", "value": rubric}]},
        "tests": [],
    }
    path = written(tmp_path, json.dumps(body), "promptfooconfig.yaml")
    prompt = understand(read_own_prompt(Path(path)), AddOptions(labels=("false", "true"))).prompt
    assert prompt is not None
    assert [name for name, kind in prompt.reply_schema.items() if kind == "score"] == [field]
    reply = json.dumps(
        {"reason": "No day.", field: False, **({} if field == "score" else {"score": 0.2})}
    )
    answer = read_reply(prompt, Completion(text=reply))
    assert isinstance(answer, Verdict)
    assert answer.score == 0.0
