"""What a run found, taken apart, and who decides about it."""

from __future__ import annotations

import getpass
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError, Registry
from judgewright.runs.actions import (
    GATED,
    HUNKS,
    NotAccepted,
    Terms,
    baseline,
    identity,
    provenance,
    read_optimization,
    record_review,
)
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import RunConfig, RunJournal, Workspace, create_run

from .stored_events import EVIDENCE, stored

PROMPT = Registry().get("groundedness")
CHILD = PROMPT.edited(
    criteria=f"Be calm.\n{PROMPT.criteria}\nNumbers must match.\nNames must match."
)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def enter(place: Workspace, *, outcome: str = "accepted", **events: Any) -> str:
    """Enter a finished run that found the child."""
    config = RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data="rows.jsonl",
        objective="precision",
    )
    run_id = create_run(place.database, "optimize", config.to_json())
    journal = RunJournal(place.database, run_id)
    plain = {
        "started": {"model": "simulated", "simulated": True},
        "survivor": {"version": CHILD.version, "prompt": CHILD.to_yaml()},
        "decision": {
            "accepted": outcome == "accepted",
            "outcome": outcome,
            "reason": "so",
            **EVIDENCE,
        },
    }
    for kind, payload in {**plain, **events, "everything": {}}.items():
        journal.record(kind, stored(kind, payload))
    return run_id


def test_a_baseline_cut_otherwise_than_the_run_cut_it_is_not_shown(
    place: Workspace, tmp_path: Path
) -> None:
    """Where other rows were sealed then, an open row may be a sealed one; before the split there is
    none to show.
    """
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    config = RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data=str(tmp_path / "rows.jsonl"),
        objective="precision",
    )
    run_id = create_run(place.database, "optimize", config.to_json())
    journal = RunJournal(place.database, run_id)
    journal.record("started", stored("started", {}))
    with pytest.raises(InputError, match="has not begun"):
        baseline(place, read_optimization(place, run_id))
    journal.record("split", stored("split", {}))
    with pytest.raises(InputError, match="not split as it was when the run started"):
        baseline(place, read_optimization(place, run_id))


def test_what_the_gate_was_asked_is_read_back(place: Workspace) -> None:
    """Objective and slice are the run's; a slice of all rows is none."""
    assert Terms.of_run(read_optimization(place, enter(place))).slice is None
    terms = Terms.of_run(
        read_optimization(place, enter(place, slice={"name": "source_words >= 400"}))
    )
    assert (str(terms.slice), terms.objective.target) == ("source_words >= 400", "precision")
    assert (
        Terms.of_run(read_optimization(place, enter(place, slice={"name": "all rows"}))).slice
        is None
    )


@pytest.mark.parametrize(("verb", "adopt"), [("accepted", True), ("rejected", False)])
def test_a_decision_carries_the_exact_text(place: Workspace, verb: str, adopt: bool) -> None:
    """The event holds the prompt as YAML; once decided, the run stays so."""
    run_id = enter(place)
    adopted = record_review(place, run_id, accept=adopt, who="ann", comment="reads well")
    (said,) = read_optimization(place, run_id).reviews
    assert (said.verb, said.who, said.comment, said.version) == (
        verb,
        "ann",
        "reads well",
        CHILD.version,
    )
    if adopted is None:
        assert said.prompt == CHILD.to_yaml()
        assert not (place.root / "prompts").exists()
    else:
        kept = (place.root / "prompts" / "groundedness" / f"{CHILD.version}.yaml").read_text()
        assert said.prompt == kept == adopted.to_yaml()
    with pytest.raises(InputError, match=f"already {verb} by ann"):
        record_review(place, run_id, accept=adopt, who="bob", comment="")


def test_an_adoption_that_was_cut_off_can_be_given_again(place: Workspace) -> None:
    """The prompt on the shelf without its event, as a kill leaves it: the same command ends the
    same.
    """
    run_id = enter(place)
    place.registry.keep(CHILD)
    adopted = record_review(place, run_id, accept=True, who="ann", comment="")
    assert adopted is not None
    assert place.registry.get("groundedness") == adopted
    assert len(read_optimization(place, run_id).reviews) == 1


def test_only_what_the_gate_accepted_is_adopted(place: Workspace) -> None:
    """An undecided one is not."""
    run_id = enter(place, outcome="undecided")
    with pytest.raises(NotAccepted, match="so"):
        record_review(place, run_id, accept=True, who="ann", comment="")
    assert read_optimization(place, run_id).reviews == ()


def test_the_origin_of_a_version_is_the_run_that_accepted_it(place: Workspace) -> None:
    """Of several runs the first accept; a version made of hunks comes from the run that gated
    them.
    """
    enter(place, outcome="undecided")
    accepted, _ = enter(place), enter(place)
    assert provenance(place, CHILD)["run"] == accepted
    part = replace(PROMPT, criteria=PROMPT.criteria + "\nNames must match.")
    question = {"of": accepted, "after": {"version": part.version}}
    own = create_run(place.database, HUNKS, {"question": question, "model": "simulated"})
    assert provenance(place, part)["outcome"] == "never gated"
    decision = {"accepted": True, "outcome": "accepted", "reason": "so", **EVIDENCE}
    RunJournal(place.database, own).record(GATED, stored(GATED, {"decision": decision}))
    assert provenance(place, part) == {
        "run": own,
        "gated_on": "simulated",
        "simulated": True,
        "outcome": "accepted",
        "reason": "so",
    }


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder under git with a configuration that names nobody."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LOGNAME", "somebody")
    folder = tmp_path / "repository"
    folder.mkdir()
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@needs_git
def test_who_decides_is_whom_git_names_in_this_folder(
    nobody: Path, place: Workspace, tmp_path: Path
) -> None:
    """Name and address, what there is of them, and the user name where there is neither."""
    assert identity(nobody) == getpass.getuser() == "somebody"
    subprocess.run(
        ["git", "-C", str(nobody), "config", "user.email", "ann@example.org"], check=True
    )
    assert identity(nobody) == "ann@example.org"
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Ann Ö.\n", encoding="utf-8")
    assert identity(nobody) == "Ann Ö. <ann@example.org>"
    run_id = enter(place)
    record_review(place, run_id, accept=False, who=None, comment="")
    assert read_optimization(place, run_id).reviews[0].who == "Ann Ö."


def test_without_git_it_is_the_user_name(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without git, and a folder that is gone."""
    monkeypatch.setenv("PATH", "")
    assert identity(nobody) == "somebody"
    assert identity(nobody / "gone") == "somebody"
