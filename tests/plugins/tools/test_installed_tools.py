"""Judges read from installed tools: what the tool sends is what our prompt says, hashed here and
never written down.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import (
    CRITERIA_PLACE,
    InputError,
    JudgePrompt,
)
from judgewright.plugins.tools import readers
from judgewright.runs.exports import TARGETS, ExportContext, Field, Refused, write_export
from judgewright.runs.imports import AddOptions, JudgeReader, read_back, understand

SHIPPED = [
    ("trulens", "groundedness", 2, (0, 3), {"criteria", "supporting_evidence", "score"}),
    ("trulens", "context_relevance", 2, (0, 3), {"score"}),
    ("trulens", "answer_relevance", 2, (0, 3), {"score"}),
    ("mlflow", "groundedness", 3, (0, 1), {"rationale", "result"}),
    ("mlflow", "relevance_to_query", 2, (0, 1), {"rationale", "result"}),
    ("ragas", "context_relevance", 2, (0, 2), {"rating"}),
    ("ragas", "faithfulness", 2, (0, 1), "replaced"),
    ("deepeval", "hallucination", 2, (0, 1), "replaced"),
    ("deepeval", "g_eval_groundedness", 2, (0, 10), {"reason", "score"}),
    ("umbrela", "qrel_fewshot_bing", 2, (0, 3), {"M", "T", "O"}),
]
"""Tool, judge, number of inputs, ends of the scale, and the fields of its reply: its own, or ours
where those are a list.
"""
FILLS = {"g_eval_groundedness": {"criteria": "Mind the quokka."}}


def reader_of(tool: str) -> JudgeReader:
    """What reads the judges of a tool."""
    return getattr(readers, tool.upper())


def import_judge(
    tool: str, name: str, *, options: AddOptions | None = None, interpreter: str | None = None
) -> JudgePrompt:
    """The judge that a tool's becomes."""
    found = understand(reader_of(tool).read(name, interpreter), options or AddOptions())
    if found.prompt is None:
        raise InputError("; ".join(map(str, found.questions)))
    return found.prompt


def options_for(tool: str, name: str, python: str) -> AddOptions:
    """What a judge needs from its user: where a tool says its scale or rules in words alone."""
    options = AddOptions(fills=FILLS.get(name, {}))
    if tool == "ragas" and name != "faithfulness":
        options = replace(options, scale="0..2")
    if tool == "mlflow":
        options = replace(options, labels=("no", "yes"))
    judge = reader_of(tool).read(name, python)
    if judge.criteria or judge.needs:
        return options
    first = judge.messages[0].parts[0]
    assert isinstance(first, str)
    return replace(options, criteria=first.partition("\n\n")[0].partition(". ")[2].strip())


def digest(text: str) -> str:
    """The hash of a text's words, whatever the white space between them."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def sent_by(tool: str, name: str, python: str) -> str:
    """Everything that the tool sends, in its order, with our placeholders where the row's texts
    stand.
    """
    found = reader_of(tool).read(name, python)
    fills = {**found.fills, **FILLS.get(name, {})}
    return "\n".join(
        "".join(
            fills.get(s.name, f"{{{{{s.name}}}}}") if isinstance(s, Field) else s
            for s in message.parts
        )
        for message in found.messages
    )


def said_by(prompt: JudgePrompt, clause: str = "") -> str:
    """The words of a prompt in the order in which a model sees them, without a clause of ours."""
    before, _, after = prompt.system.partition(CRITERIA_PLACE)
    return "\n".join(
        (before, prompt.criteria, after, prompt.template, prompt.reply.removesuffix(clause))
    )


@pytest.mark.parametrize(("tool", "name", "inputs", "ends", "reply"), SHIPPED)
def test_every_word_of_the_tool_stands_in_its_place(
    tool, name, inputs, ends, reply, python_with
) -> None:
    """Read twice, from the tool: the words are the same and in order, the fields and scale
    the tool's.

    A list of verdicts is not one verdict: there a clause of ours asks, and the note says so.
    """
    python = python_with(tool)
    prompt = import_judge(tool, name, options=options_for(tool, name, python), interpreter=python)
    replaced = reply == "replaced"
    assert len(prompt.inputs) == inputs
    assert (prompt.scale.low, prompt.scale.high) == ends
    assert set(prompt.reply_schema) == ({"reason", "score"} if replaced else reply)
    assert ("Reply clause replaced" in prompt.note) is replaced
    clause = prompt.reply.split("\n\n")[-1] if replaced else ""
    assert digest(said_by(prompt, clause)) == digest(sent_by(tool, name, python))
    assert re.search(rf"{tool} \d+\.\d+", prompt.note)


@pytest.mark.parametrize("name", ["groundedness", "context_relevance", "answer_relevance"])
def test_criteria_that_a_tool_keeps_apart_are_its_rules_alone(name: str, python_with) -> None:
    """The optimizer edits criteria: no example and no form of the answer stand in them."""
    prompt = import_judge("trulens", name, interpreter=python_with("trulens"))
    assert CRITERIA_PLACE in prompt.system
    assert len(prompt.criteria.split()) > 12
    assert not re.search(r"[{}\[\]]|^example|---", prompt.criteria, re.IGNORECASE | re.MULTILINE)


def test_criteria_that_a_tool_does_not_keep_apart_are_asked(python_with) -> None:
    """Its examples and form of answer are none of them."""
    with pytest.raises(InputError, match="criteria"):
        import_judge("ragas", "faithfulness", interpreter=python_with("ragas"))


def test_the_criteria_of_g_eval_are_its_users(python_with) -> None:
    """DeepEval's frame says how to answer."""
    found = import_judge(
        "deepeval",
        "g_eval_answer",
        options=AddOptions(fills=FILLS["g_eval_groundedness"]),
        interpreter=python_with("deepeval"),
    )
    assert found.criteria == FILLS["g_eval_groundedness"]["criteria"]


@pytest.mark.parametrize("tool", ["trulens", "mlflow", "umbrela", "ragas", "deepeval"])
def test_what_is_listed_can_be_imported(tool, python_with) -> None:
    """The last name of each list, to begin with; what a tool does not have is refused by name."""
    python = python_with(tool)
    names = reader_of(tool).names(python)
    assert len(names) == len(set(names))
    assert reader_of(tool).read(names[-1], python).messages
    with pytest.raises(InputError, match="no_such_judge"):
        import_judge(tool, "no_such_judge", interpreter=python)


def test_g_eval_needs_criteria(python_with) -> None:
    """GEval ships a frame without a judge in it."""
    with pytest.raises(InputError, match="of yours"):
        import_judge("deepeval", "g_eval_answer", interpreter=python_with("deepeval"))


@pytest.mark.parametrize(
    ("tool", "name"), [("trulens", "groundedness"), ("mlflow", "relevance_to_query")]
)
def test_an_imported_judge_goes_out_and_comes_home(tool, name, python_with, tmp_path: Path) -> None:
    """For every target that can carry it: one version."""
    python = python_with(tool)
    prompt = import_judge(tool, name, options=options_for(tool, name, python), interpreter=python)
    refused = []
    for target in TARGETS:
        try:
            context = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
            write_export(context, TARGETS[target], tmp_path / target)
        except Refused:
            refused.append(target)
            continue
        assert read_back(tmp_path / target).prompt.version == prompt.version, target
    assert set(refused).isdisjoint({"yaml", "json", "messages", "jinja", "python"})


def test_a_tool_that_is_not_there_is_told_how_to_come() -> None:
    """Our own Python has no UMBRELA; the hint says what to install and where."""
    with pytest.raises(InputError) as told:
        import_judge("umbrela", "qrel_fewshot_bing")
    assert "--with" in str(told.value.hint)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package called mlflow with one judge, found by every Python; it keeps the environment in a
    file `told`.
    """
    prompts = tmp_path / "site/mlflow/genai/judges/prompts"
    prompts.mkdir(parents=True)
    spy = (
        f"import os\nopen({str(tmp_path / 'told')!r},"
        " 'w').write(repr(dict(os.environ)))\nprint('{' * 1_000_000)\n"
    )
    (prompts / "__init__.py").write_text(spy)
    (prompts / "quokka.py").write_text(
        "def get_prompt(passage):\n    return f'Is it a quokka? yes|no {passage}'\n"
    )
    (tmp_path / "site/mlflow-9.1.dist-info").mkdir()
    (tmp_path / "site/mlflow-9.1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: mlflow\nVersion: 9.1\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    return tmp_path


def test_an_installed_tool_sees_no_key(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds where things are and nobody's secrets; what it prints is no answer, and our probe is
    not the tool.
    """
    names = ("OPENAI_API_KEY", "JUDGEWRIGHT_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN")
    for name in names:
        monkeypatch.setenv(name, "sk-CANARY-51d0c7")
    assert reader_of("mlflow").names(None) == ["quokka"]
    told = (stand_in / "told").read_text()
    assert "PATH" in told
    assert not any(secret in told for secret in (*names, "sk-CANARY"))


@pytest.mark.skipif(os.name == "nt", reason="a script is run by its first line")
def test_an_interpreter_is_found_from_where_one_stands(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--with env/bin/python` names a file here, not in the folder that the probe runs in."""
    program = stand_in / "env/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.chdir(stand_in)
    with pytest.raises(InputError, match="where in an answer"):
        import_judge("mlflow", "quokka", interpreter="env/bin/python")
    said = AddOptions(labels=("no", "yes"), verdict="start", criteria="Is it a quokka?")
    prompt = import_judge("mlflow", "quokka", options=said, interpreter="env/bin/python")
    assert "mlflow 9.1" in prompt.note
    assert "Is it a quokka?" in said_by(prompt)
