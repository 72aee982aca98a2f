"""Exports read back: import after export is the same version, and words edited in a file come
home.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, Example, InputError, JudgePrompt, OutputScale, Registry
from judgewright.runs.exports import TARGETS, ExportContext, Refused, write_export
from judgewright.runs.imports import TOOL_FORMATS, read_back

PLAIN = ("yaml", "json", "messages", "jinja", "python")
TEXTS = st.text(alphabet="{}%#\"'\\ \n\r\tabc.漢", min_size=1, max_size=30)


def export(
    prompt: JudgePrompt, target: str, folder: Path, rule: DecisionRule | None = None
) -> Path:
    """Write a judge for a target; the test ends where the target cannot carry it."""
    context = ExportContext(
        prompt=prompt, rule=rule or prompt.rule, provenance={"gated_on": "simulated"}
    )
    try:
        write_export(context, TARGETS[target], folder)
    except Refused as why:
        pytest.skip(f"{target} refuses {prompt.name}: {why}")
    return folder


def marked(**parts: object) -> JudgePrompt:
    """A judge with anchors and a demonstration, and one word in each part that stands nowhere
    else.
    """
    prompt = JudgePrompt(
        name="marked",
        system="You look at quokka facts.\nTwo lines.",
        criteria="Mind the wombat.\n\nAnd the rest.",
        template="Question:\n{{query}}\n\nText:\n{{passage}}",
        reply='Answer with JSON.\n"reason": why;\n"score": the numbat grade, 0 to 3.',
        reply_schema={"reason": "text", "score": "score"},
        scale=OutputScale(anchors={"0": "nothing", "1": "a bilby", "2": "more", "3": "all"}),
        examples=(
            Example(
                inputs={"query": "q", "passage": "p"}, reply='{"reason": "potoroo", "score": 3}'
            ),
        ),
    )
    return replace(prompt, **parts)


@pytest.mark.parametrize("name", Registry().names())
@pytest.mark.parametrize("target", sorted(TARGETS))
def test_import_after_export_is_the_same_version(target: str, name: str, tmp_path: Path) -> None:
    """For every shipped judge and every target, and so again after a second export."""
    prompt = Registry().get(name)
    first = read_back(export(prompt, target, tmp_path / "first")).prompt
    assert first.version == prompt.version
    assert first == prompt
    assert read_back(export(first, target, tmp_path / "second")).prompt == prompt


@pytest.mark.parametrize("target", PLAIN)
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(system=TEXTS, criteria=TEXTS, reply=TEXTS, shown=TEXTS)
def test_hostile_words_come_home(tmp_path: Path, target, system, criteria, reply, shown) -> None:
    """Braces of every template syntax, white space at the ends and line breaks survive, or the
    export was refused.
    """
    example = Example(inputs={"query": shown, "passage": shown[::-1]}, reply=shown)
    prompt = marked(system=system, criteria=criteria, reply=reply, examples=(example,))
    context = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    try:
        write_export(context, TARGETS[target], tmp_path / target)
    except Refused:
        return
    assert read_back(tmp_path / target).prompt == prompt


EDITABLE = sorted(
    (target, file.ending)
    for target, files in TOOL_FORMATS.items()
    for file in files
    if target != "yaml"
)


@pytest.mark.parametrize("word", ["quokka", "wombat", "bilby"])
@pytest.mark.parametrize(("target", "ending"), EDITABLE)
def test_words_edited_in_a_file_come_home(
    target: str, ending: str, word: str, tmp_path: Path
) -> None:
    """What the tool's file says counts before the manifest, part by part; the rest is as it was."""
    prompt = marked()
    folder = export(prompt, target, tmp_path)
    (file,) = (
        path
        for path in folder.iterdir()
        if path.name.endswith(ending) and path.name != "manifest.json"
    )
    file.write_text(file.read_text(encoding="utf-8").replace(word, "drop bear"), encoding="utf-8")
    wanted = replace(
        prompt,
        system=prompt.system.replace(word, "drop bear"),
        criteria=prompt.criteria.replace(word, "drop bear"),
        scale=replace(
            prompt.scale,
            anchors={g: t.replace(word, "drop bear") for g, t in prompt.scale.anchors.items()},
        ),
    )
    back = read_back(folder)
    assert back.prompt.version == wanted.version
    assert back.prompt.parent == prompt.version
    assert back.sources["words"] == file.name
    assert back.edited


@pytest.mark.parametrize("target", ["messages", "jinja", "langchain", "python"])
def test_an_edited_reply_or_demonstration_comes_home(target: str, tmp_path: Path) -> None:
    """Template and reply clause are one text in most formats, and are told apart by what was
    exported.
    """
    prompt = marked()
    folder = export(prompt, target, tmp_path)
    for file in folder.iterdir():
        if file.name != "manifest.json":
            text = file.read_text(encoding="utf-8")
            file.write_text(
                text.replace("numbat", "dingo").replace("potoroo", "quoll"), encoding="utf-8"
            )
    back = read_back(folder).prompt
    assert back.reply == prompt.reply.replace("numbat", "dingo")
    assert back.examples[0].reply == prompt.examples[0].reply.replace("potoroo", "quoll")
    assert back.template == prompt.template


def test_the_yaml_may_be_edited_as_any_prompt_file(tmp_path: Path) -> None:
    """With its version line gone the file is the judge, whatever the manifest says."""
    folder = export(marked(), "yaml", tmp_path)
    file = folder / "marked.yaml"
    lines = (
        file.read_text(encoding="utf-8").replace("wombat", "drop bear").splitlines(keepends=True)
    )
    file.write_text(
        "".join(line for line in lines if not line.startswith("version:")), encoding="utf-8"
    )
    assert read_back(folder).prompt.criteria == marked().criteria.replace("wombat", "drop bear")


def test_two_files_edited_apart_are_refused(tmp_path: Path) -> None:
    """Nobody can tell which of two judges is meant."""
    folder = export(marked(), "mlflow", tmp_path)
    for name, word in (("marked_mlflow.py", "dingo"), ("prompt.json", "emu")):
        text = (folder / name).read_text(encoding="utf-8").replace("wombat", word)
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="both edited"):
        read_back(folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m: m[0].update(content="Nothing but this."), "notice"),
        (lambda m: m[-1].update(content="{{query}} {{passage}}"), "fence"),
        (lambda m: m.pop(1), "roles"),
        (lambda m: m[0].update(role="oracle"), "oracle"),
        (lambda m: m[1].update(content="What?"), "demonstration"),
    ],
)
def test_a_file_that_is_no_judge_any_more_is_refused(change, told: str, tmp_path: Path) -> None:
    """The reason names the file and what is missing."""
    folder = export(marked(), "messages", tmp_path)
    file = folder / "marked.messages.json"
    messages = json.loads(file.read_text(encoding="utf-8"))
    change(messages)
    file.write_text(json.dumps(messages), encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_back(folder)


def test_code_in_a_module_is_never_run(tmp_path: Path) -> None:
    """A module is read for its literals; what it would do when imported does not happen."""
    folder = export(marked(), "python", tmp_path)
    file, witness = folder / "marked.py", tmp_path / "ran"
    head = f"open({str(witness)!r}, 'w').close()\n"
    file.write_text(head + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert read_back(folder).prompt == marked()
    assert not witness.exists()


def test_what_the_format_cannot_carry_is_said(tmp_path: Path) -> None:
    """The import tells which part came from which file, and of a rule that is not the prompt's
    own.
    """
    folder = export(marked(), "messages", tmp_path, DecisionRule(threshold=3.0))
    found = read_back(folder)
    told = " ".join(found.notes)
    assert "From marked.messages.json: words, demonstrations." in told
    assert "From manifest.json: scale, reply fields, threshold." in told
    assert DecisionRule(threshold=3.0).version in told
    assert found.prompt == marked()
