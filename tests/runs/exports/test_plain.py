"""Plain exports: verified by a program that knows nothing of ours, hostile text and tampering
included.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import DecisionRule, InputError, JudgePrompt, Platt, Registry, load_prompt
from judgewright.runs.actions.export import read_inputs
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    Refused,
    Verification,
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


@pytest.mark.parametrize("name", Registry().names())
@pytest.mark.parametrize("target", ["yaml", "json", "messages", "jinja"])
def test_every_shipped_judge_is_verified(target: str, name: str, context, exported) -> None:
    """The messages are ours byte for byte over hostile rows."""
    found: Verification = exported(target, context(shipped(name)))
    assert found.problems == ()
    assert found.rows >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groundedness", "answerability", "routing", "diras_probability"])
def test_the_module_asks_and_reads_as_we_do(name: str, context, exported) -> None:
    """Over the OpenAI client: the whole request, and the verdict or none of every form of reply."""
    found: Verification = exported("python", context(shipped(name)))
    assert found.problems == ()
    assert found.replies >= 60


def test_a_module_that_scores_replies_that_were_cut_off_fails(context, mistaken) -> None:
    """As nine targets did: the text is read without asking how it ended."""
    found = mistaken(
        "python",
        context(shipped("groundedness")),
        lambda text: text.replace(
            "return read_reply(text, ending, refusal)", "return read_reply(text)"
        ),
    )
    assert (
        "a reply (whole, but ended by its limit): has no verdict, and is scored 3" in found.problems
    )
    assert "a reply (a refusal beside a verdict): has no verdict, and is scored 3" in found.problems


def test_another_temperature_fails(context, mistaken) -> None:
    """Of the module, where the manifest says another."""
    given: ExportContext = context(shipped("groundedness"))
    found = mistaken(
        "python", given, lambda text: text.replace('"temperature": 0.0', '"temperature": 0.7')
    )
    assert len(found.problems) == 1
    assert found.problems[0].endswith("times: temperature is 0.7, not 0.0")


@pytest.mark.slow
def test_a_threshold_the_other_way_round_fails(context, mistaken) -> None:
    """Each decision is then the opposite one."""
    given: ExportContext = context(shipped("groundedness"))
    found = mistaken(
        "python",
        given,
        lambda text: text.replace("return grade >= THRESHOLD", "return grade < THRESHOLD"),
    )
    assert "a reply (grade 3): with the score 3 is decided negative, not positive" in found.problems
    assert "a reply (grade 0): with the score 0 is decided positive, not negative" in found.problems


def test_rows_of_ones_own_are_asked_about(tmp_path: Path, context) -> None:
    """Besides the hostile ones, and compared as they are."""
    write_export(context(shipped("groundedness")), TARGETS["python"], tmp_path / "out")
    rows = [{"source": "The hotel has 44 rooms.", "statement": "It has 44 rooms.", "label": "1"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = verify_export(
        tmp_path / "out",
        TARGETS,
        rows=read_inputs(shipped("groundedness"), tmp_path / "rows.jsonl"),
    )
    assert (found.rows, found.problems) == (9, ())


def test_an_export_of_another_version_is_verified_for_what_it_is(tmp_path: Path, context) -> None:
    """Only when asked to, as its own code runs; what its manifest does not say is not held against
    it.
    """
    export = write_export(context(shipped("groundedness")), TARGETS["python"], tmp_path / "out")
    module, place = tmp_path / "out" / "groundedness.py", tmp_path / "out" / "manifest.json"
    module.write_text("# an older version's words\n" + module.read_text())
    body = {
        name: value
        for name, value in export.body.items()
        if name not in ("request", "written_by", "leaves_out")
    }
    place.write_text(
        json.dumps(body | {"files": {module.name: hashlib.sha256(module.read_bytes()).hexdigest()}})
    )
    (problem,) = verify_export(tmp_path / "out", TARGETS).problems
    assert "--as-written" in problem
    found = verify_export(tmp_path / "out", TARGETS, as_written=True)
    assert (found.problems, found.replies >= 60) == ((), True)
    assert "written by an earlier version and run as it is" in found.notes
    assert any("nothing of the request" in note for note in found.notes)
    module.write_text("# edited\n" + module.read_text())
    assert (
        "not what was written"
        in verify_export(tmp_path / "out", TARGETS, as_written=True).problems[0]
    )


@pytest.mark.parametrize(
    ("target", "reply"),
    [
        ("python", "a refusal beside a verdict"),
        ("langfuse", "a refusal beside a verdict"),
        ("openevals", "a field twice, unlike"),  # its client of LangChain's refuses refusals itself
    ],
)
def test_an_export_that_version_0_2_wrote_is_verified_for_what_it_is(
    target: str, reply: str, tmp_path: Path, program
) -> None:
    """As that version wrote it: its messages are ours, every form of reply is read by its own code,
    and what it scores that has no verdict is said."""
    found = json.loads(Path(__file__).with_name("exports-0.2.0.json").read_text(encoding="utf-8"))[
        target
    ]
    for name, text in found.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    interpreter = program(target)
    (problem,) = verify_export(tmp_path, TARGETS, interpreter=interpreter).problems
    assert "an earlier version wrote it" in problem
    found = verify_export(tmp_path, TARGETS, interpreter=interpreter, as_written=True)
    assert found.replies >= 60
    assert f"a reply ({reply}): has no verdict, and is scored 3" in found.problems
    assert all(problem.startswith(("a reply (", "case ", "and ")) for problem in found.problems)
    assert not any("attribute" in problem or "KeyError" in problem for problem in found.problems)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["system", "criteria", "reply"])
@pytest.mark.parametrize("target", ["yaml", "jinja", "python"])
def test_hostile_prompt_text_round_trips(target: str, part: str, context, exported) -> None:
    """Braces of every template syntax, quotes, line breaks and twenty thousand letters arrive."""
    prompt = replace(shipped("groundedness"), **{part: HOSTILE})
    assert exported(target, context(prompt)).problems == ()


@pytest.mark.parametrize("target", ["json", "messages"])
def test_what_would_be_read_as_a_place_is_refused(target: str, context) -> None:
    """`{{source}}` in the reply clause is text to us and would be a place to whoever fills the
    messages.
    """
    prompt = replace(shipped("groundedness"), reply="write {{source}}")
    with pytest.raises(Refused, match="source"):
        TARGETS[target].write(context(prompt))


def test_fields_of_any_name_reach_the_module(context, exported) -> None:
    """Words of Python, and names that the module uses itself."""
    prompt = replace(shipped("groundedness"), template="{{class}} {{json}} {{tag}} {{fields}}")
    assert exported("python", context(prompt)).problems == ()


def test_the_manifest_tells_everything(tmp_path: Path, context) -> None:
    """Version, rule, where it was gated, simulated, differences, hashes; and the judge reads back
    as itself.
    """
    prompt = shipped("groundedness")
    rule = DecisionRule(threshold=3, calibration=Platt(slope=0.5, intercept=0.0))
    write_export(replace(context(prompt), rule=rule), TARGETS["json"], tmp_path / "out")
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
    assert list(body["files"]) == ["groundedness.json", "README.md"]


@pytest.mark.parametrize("target", ["json", "messages", "jinja", "python"])
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


@pytest.mark.parametrize("target", ["json", "messages", "jinja", "python"])
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
    write_export(context(shipped("groundedness")), TARGETS["messages"], tmp_path / "g.json")
    assert {p.name for p in tmp_path.iterdir()} == {"g.json", "g.json.manifest.json"}
    assert verify("messages", tmp_path / "g.json").passed


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


def test_an_export_with_a_file_that_is_no_longer_written_says_what_to_do(
    tmp_path: Path, context
) -> None:
    """Older versions wrote a second file for make_judge: one line says to export again, and nothing
    is run.
    """
    write_export(context(shipped("groundedness")), TARGETS["mlflow"], tmp_path / "out")
    second, place = (
        tmp_path / "out" / "groundedness_make_judge.py",
        tmp_path / "out" / "manifest.json",
    )
    second.write_text("")
    body = json.loads(place.read_text())
    body["files"][second.name] = hashlib.sha256(b"").hexdigest()
    place.write_text(json.dumps(body))
    (problem,) = verify_export(tmp_path / "out", TARGETS).problems
    assert "Export the judge again" in problem
    assert problem.endswith("with --as-written")
