"""`gate --again`: the last accept again on another model, and what counts as verified."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from judgewright.judges import InputError, Registry
from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.optimize.holdout.ledger import alpha_of_look
from judgewright.optimize.losses import read_objective
from judgewright.runs.actions import (
    GateModel,
    RunResult,
    Terms,
    TwoJudges,
    gate_again,
    gate_judges,
    gated_on,
    record_review,
    start_run,
    verification,
)
from judgewright.runs.commands.gate import gate as command
from judgewright.runs.config import Environment, ModelOptions
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import HoldoutLedger, RunConfig, Workspace, list_runs

PROMPT = Registry().get("groundedness")
EDIT = PROMPT.edited(
    criteria=(
        f"{PROMPT.criteria}"
        "\nCheck every name and entity; one that does not appear in the source means a low grade."
        "\nCompare each number with the source, and grade low if it does not appear there."
    )
)
"""What keeps the simulated model from saying yes too often."""
OBJECTIVE = "Precision matters most: do not call unsupported statements grounded."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The simulated model behind an endpoint, where it answers to any name."""
    with Server(make_app(Simulated())) as server:
        yield server.base_url


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """A workspace with an adopted prompt, a person's edit, and the run whose gate accepted it."""
    folder = tmp_path_factory.mktemp("recheck")
    write_demo_rows(folder / "rows.jsonl")
    config = RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data=str(folder / "rows.jsonl"),
        objective=OBJECTIVE,
        target="precision",
        proposer="human",
        edit=EDIT.to_yaml(),
        steps=1,
    )
    with Workspace(folder / "work") as place:
        result = start_run(place, config, Environment())
        assert result.run.decided.accepted
        record_review(place, result.run_id, accept=True, who="test", comment="")
    return folder / "work", result


def asking(model: str) -> GateModel:
    """Ask one model, without a limit."""
    options = ModelOptions(model=model, concurrency=32)
    return GateModel(options=options, environment=Environment())


def test_the_last_accept_is_made_again_on_another_model(
    accepted: tuple[Path, RunResult], url: str
) -> None:
    """The same rows, prompts and objective give the same evidence here, as a first look on a line
    of its own.
    """
    root, result = accepted
    with Workspace(root) as place:
        prompt = place.registry.get("groundedness")
        assert "other" not in verification(place, prompt)["verified_on"]
        found = gate_again(place, prompt, asking(f"other@{url}"))
        decision, first = found.answer.decision, result.run.decided.evidence
        assert first is not None
        assert first.target is not None
        assert decision.evidence is not None
        assert (decision.evidence.look, decision.evidence.alpha) == (1, alpha_of_look(1))
        target = decision.evidence.target
        assert target is not None
        assert target["before"] == pytest.approx(first.target["before"])
        assert target["after"] == pytest.approx(first.target["after"])
        assert (found.answer.model, found.answer.simulated, found.answer.rechecks) == (
            "other",
            True,
            result.run_id,
        )
        assert any("own line" in note for note in found.answer.notes)
        looks = (
            HoldoutLedger(place.database)
            .history()
            .looks(result.run.events[1].payload["seals"]["holdout"])
        )
        assert [(r.look.purpose, r.look.line) for r in looks] == [
            ("gate", ""),
            ("recheck", "other"),
        ]
        assert {one.model for one in gated_on(place, prompt)} == {"simulated", "other"}
        assert ("other" in verification(place, prompt)["verified_on"]) is found.accepted
        again = gate_again(place, prompt, asking(f"other@{url}"))
        assert (again.repeated, again.run_id) == (True, found.run_id)


def test_the_command_prints_it_and_leaves_by_the_decision(
    accepted: tuple[Path, RunResult], url: str
) -> None:
    """Exit 0 where it is accepted there too; everything is labelled simulated."""
    found = CliRunner().invoke(
        command,
        ["groundedness", "--again", "--model", f"third@{url}", "--workspace", str(accepted[0])],
    )
    assert found.exit_code == (0 if "ACCEPTED" in found.stdout else 1), found.output
    assert "SIMULATED" in found.stdout
    assert "look 1 at this holdout" in found.stdout


def test_what_cannot_be_rechecked_is_refused_without_a_look(
    accepted: tuple[Path, RunResult],
) -> None:
    """The model it was accepted on, and a version nothing accepted; the ledger stays as it is."""
    with Workspace(accepted[0]) as place:
        entries, runs = HoldoutLedger(place.database).verify(), len(list_runs(place.database))
        with pytest.raises(InputError, match="on simulated itself"):
            gate_again(place, place.registry.get("groundedness"), asking("simulated"))
        with pytest.raises(InputError, match="no decision in this workspace accepted"):
            gate_again(place, PROMPT, asking("other"))
        assert (HoldoutLedger(place.database).verify(), len(list_runs(place.database))) == (
            entries,
            runs,
        )


@pytest.mark.slow
def test_an_accept_of_the_gate_command_is_rechecked_too(
    accepted: tuple[Path, RunResult], url: str, tmp_path: Path
) -> None:
    """Its rows, objective and prompts are read from the run; rows that have changed since are
    refused.
    """
    new = Registry(accepted[0] / "prompts").get("groundedness")
    rows = tmp_path / "rows.jsonl"
    write_demo_rows(rows)
    with Workspace(tmp_path / "work") as place:
        two = TwoJudges(before=PROMPT, after=new, data=rows, reading={}, rules={})
        terms = Terms(
            objective=read_objective(
                OBJECTIVE, judge=PROMPT, target="precision", guards=("recall:-0.10",)
            )
        )
        gated = gate_judges(place, two, terms, asking("simulated"))
        assert gated.accepted, gated.answer.decision.reason
        again = gate_again(place, new, asking(f"other@{url}"))
        assert again.answer.decision.evidence == gated.answer.decision.evidence
        lines = rows.read_text().splitlines()
        first = json.loads(lines[0])
        rows.write_text("\n".join([json.dumps({**first, "label": 3 - first["label"]}), *lines[1:]]))
        with pytest.raises(InputError, match="has changed since run"):
            gate_again(place, new, asking(f"later@{url}"))


def test_a_version_that_was_edited_is_unverified(accepted: tuple[Path, RunResult]) -> None:
    """Another text is another version: nothing that was gated speaks for it."""
    with Workspace(accepted[0]) as place:
        edited = replace(place.registry.get("groundedness"), criteria="Say yes to everything.")
        assert verification(place, edited) == {
            "gated_on": [],
            "verified_on": [],
            "note": (
                f"groundedness@{edited.version} was never gated: it is unverified on every model"
            ),
        }
