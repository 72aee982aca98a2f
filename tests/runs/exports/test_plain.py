"""Plain exports: verified by a program that knows nothing of ours, hostile text and tampering
included.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import DecisionRule, InputError, JudgePrompt, Platt, Registry, load_prompt
from judgewright.runs.actions.export import read_inputs
from judgewright.runs.config.command_options import RoleOptions
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    Refused,
    Verification,
    named_target,
    read_export,
    verify_export,
    write_export,
)

HOSTILE = (
    'Braces {a} {{b}} {% raw %} {# c #} "quotes" \'\'\' \\ """ \r\n\ttabs 漢字 \u202e '
    + "x" * 20_000
)


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


@pytest.mark.parametrize("name", ["groundedness", "routing"])
@pytest.mark.parametrize("target", ["yaml", "jinja"])
def test_plain_files_are_verified(target: str, name: str, context, exported) -> None:
    """The messages are ours byte for byte over hostile rows."""
    found: Verification = exported(target, context(shipped(name)))
    assert found.problems == ()
    assert found.rows >= 8


def test_a_file_says_nothing_of_a_gate_that_there_was_not(tmp_path: Path, context) -> None:
    """Its comments have only what is known."""
    write_export(context(shipped("groundedness")), TARGETS["yaml"], tmp_path / "g.yaml")
    assert ": None" not in (tmp_path / "g.yaml").read_text()


def test_rows_of_ones_own_are_asked_about(tmp_path: Path, context) -> None:
    """Besides the hostile ones, and compared as they are."""
    write_export(context(shipped("groundedness")), TARGETS["python"], tmp_path / "out")
    rows = [{"source": "The hotel has 44 rooms.", "statement": "It has 44 rooms.", "label": "1"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = verify_export(
        tmp_path / "out",
        TARGETS,
        rows=read_inputs(shipped("groundedness"), tmp_path / "rows.jsonl", RoleOptions()),
    )
    assert (found.rows, found.problems) == (9, ())


def test_an_export_of_another_version_is_not_run(tmp_path: Path, context) -> None:
    """Its manifest is not what this version writes: what to do is said."""
    export = write_export(context(shipped("groundedness")), TARGETS["python"], tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(json.dumps(export.body | {"written_by": "0.2.0"}))
    (problem,) = verify_export(tmp_path / "out", TARGETS).problems
    assert "version 0.2.0 wrote it; nothing of the export was run" in problem
    assert problem.endswith("Export the judge again")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["system", "criteria", "reply"])
@pytest.mark.parametrize("target", ["yaml", "jinja"])
def test_hostile_prompt_text_round_trips(target: str, part: str, context, exported) -> None:
    """Braces of every template syntax, quotes, line breaks and twenty thousand letters arrive."""
    prompt = replace(shipped("groundedness"), **{part: HOSTILE})
    assert exported(target, context(prompt)).problems == ()


def test_what_would_be_read_as_a_place_is_refused(context) -> None:
    """`{{source}}` in the reply clause is text to us and would be a place to Langfuse."""
    prompt = replace(shipped("groundedness"), reply="write {{source}}")
    with pytest.raises(Refused, match="source"):
        TARGETS["langfuse"].write(context(prompt))


@pytest.mark.parametrize(("gone", "instead"), [("json", "python"), ("messages", "jinja")])
def test_a_target_that_is_gone_says_where_to_go(gone: str, instead: str) -> None:
    """One line that names the target to export to."""
    with pytest.raises(InputError, match=f"export to {instead} instead"):
        named_target(gone)


def test_the_manifest_tells_everything(tmp_path: Path, context) -> None:
    """Version, rule, where it was gated, simulated, differences, hashes; and the judge reads back
    as itself.
    """
    prompt = shipped("groundedness")
    rule = DecisionRule(threshold=3, calibration=Platt(slope=0.5, intercept=0.0))
    write_export(replace(context(prompt), rule=rule), TARGETS["jinja"], tmp_path / "out")
    body = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert body["judge"]["version"] == prompt.version
    assert load_prompt(body["judge"]["yaml"]).version == prompt.version
    assert body["rule"]["version"] == rule.version
    assert body["simulated"] is True
    assert body["provenance"]["gated_on"] == "simulated"
    assert [("calibrat" in d, "Fences" in d) for d in body["declared_differences"]] == [
        (False, True),
        (True, False),
    ]
    assert list(body["files"]) == ["groundedness.jinja.json", "README.md"]


@pytest.mark.parametrize("target", ["jinja", "python"])
def test_a_changed_file_fails(target: str, tmp_path: Path, context, verify) -> None:
    """One word of the criteria, edited by hand."""
    export = write_export(context(shipped("groundedness")), TARGETS[target], tmp_path / "out")
    file = export.folder / next(iter(export.body["files"]))
    file.write_text(
        file.read_text().replace("Indirect evidence counts", "Indirect evidence never counts")
    )
    found = verify(target, tmp_path / "out")
    assert not found.passed
    assert any("not what was written" in problem for problem in found.problems)


@pytest.mark.parametrize("target", ["jinja", "python"])
def test_another_word_in_the_criteria_is_noticed(target: str, context, mistaken) -> None:
    """Row by row, where the hashes agree."""
    given: ExportContext = context(shipped("groundedness"))
    found = mistaken(
        target,
        given,
        lambda text: text.replace("Indirect evidence counts", "Indirect evidence never"),
    )
    assert any(problem.startswith("row 1:") for problem in found.problems)


def test_one_file_lies_beside_its_manifest(tmp_path: Path, context, verify) -> None:
    """A name with a suffix is a file."""
    write_export(context(shipped("groundedness")), TARGETS["jinja"], tmp_path / "g.json")
    assert {p.name for p in tmp_path.iterdir()} == {"g.json", "g.json.manifest.json"}
    assert verify("jinja", tmp_path / "g.json").passed


def test_bad_exports_are_named(tmp_path: Path, context, verify) -> None:
    """No manifest, a broken one, a judge that was edited in it, a file that is gone or lies
    elsewhere.
    """
    with pytest.raises(InputError, match="no export"):
        read_export(tmp_path)
    export = write_export(context(shipped("groundedness")), TARGETS["yaml"], tmp_path / "out")
    place = tmp_path / "out" / "manifest.json"
    good = json.loads(place.read_text())
    place.write_text(json.dumps(good | {"files": {"../x": ""}}))
    with pytest.raises(InputError, match="outside"):
        read_export(tmp_path / "out")
    place.write_text(json.dumps(good | {"judge": good["judge"] | {"version": "0" * 12}}))
    with pytest.raises(InputError, match="edited"):
        read_export(tmp_path / "out")
    place.write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        read_export(tmp_path / "out")
    place.write_text(json.dumps(good))
    (tmp_path / "out" / next(iter(export.body["files"]))).unlink()
    with pytest.raises(InputError, match="not there"):
        verify("yaml", tmp_path / "out")


def test_markdown_survives_its_own_fences(context) -> None:
    """Backquotes in the prompt do not close the block it stands in."""
    prompt = replace(shipped("groundedness"), system="```\nx\n````")
    given: ExportContext = context(prompt)
    (text,) = TARGETS["markdown"].write(given).files.values()
    assert "`````text\n" in text
