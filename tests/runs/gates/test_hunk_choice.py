"""`accept --hunks`: a part of a run's diff, composed, judged on the holdout as it stands, and
adopted.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import (
    BudgetSpent,
    Client,
    DecisionRule,
    InputError,
    Interrupted,
    JudgePrompt,
    KeptRule,
    Registry,
    judge,
    load_prompt,
    split_dataset,
)
from judgewright.judges.simulated import Simulated
from judgewright.optimize.events import write_part
from judgewright.optimize.holdout import RowFingerprints, decide
from judgewright.optimize.holdout.ledger import LookRecord, alpha_of_look
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.runs.actions import (
    HUNKS,
    HunkChoice,
    NotAccepted,
    Terms,
    accept_hunks,
    gated_on,
    provenance,
    read_optimization,
    record_review,
    start_run,
    verification,
)
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import (
    CallStore,
    HoldoutLedger,
    RunConfig,
    RunJournal,
    Workspace,
    create_run,
    list_runs,
)

from ...look_requests import look_at
from ..run_command import run_code
from ..stored_events import stored

PROMPT = Registry().get("groundedness")
OBJECTIVE = "Precision matters most: do not call unsupported statements grounded."
CALM = "Read calmly.\n"
NAMES = "\nCheck every name and entity; one that does not appear in the source means a low grade."
NUMBERS = "\nCompare each number with the source, and grade low if it does not appear there."
EDIT = PROMPT.edited(criteria=f"{CALM}{PROMPT.criteria}{NAMES}{NUMBERS}")
"""Three hunks: one that the simulated model does not mind, and two that keep it from saying yes too
often.
"""


def walk(root: Path, rows: Path, **changes: Any) -> str:
    """Send the edit through the whole path and return the run."""
    plain = {
        "prompt": PROMPT.to_yaml(),
        "model": "simulated",
        "data": str(rows),
        "objective": OBJECTIVE,
        "target": "precision",
        "steps": 1,
    }
    chosen = RunConfig(**{**plain, "proposer": "human", "edit": EDIT.to_yaml(), **changes})
    with Workspace(root) as place:
        return start_run(place, chosen, Environment()).run_id


@dataclass(frozen=True)
class Walked:
    """A workspace with a finished run."""

    root: Path
    run_id: str

    def copied(self, folder: Path) -> Walked:
        """Copy the workspace, so that a test may write to it."""
        return replace(self, root=Path(shutil.copytree(self.root, folder / "work")))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """A run whose gate accepted all three hunks."""
    folder = tmp_path_factory.mktemp("hunks")
    write_demo_rows(folder / "rows.jsonl", documents=150)
    return Walked(folder / "work", walk(folder / "work", folder / "rows.jsonl"))


@pytest.fixture
def accepted(first: Walked, tmp_path: Path) -> Walked:
    """A copy of the accepted run."""
    return first.copied(tmp_path)


@pytest.fixture
def place(accepted: Walked) -> Iterator[Workspace]:
    """The workspace of the accepted run."""
    with Workspace(accepted.root) as workspace:
        yield workspace


def accept(place: Workspace, run_id: str, *chosen: int, budget: str | None = None) -> HunkChoice:
    """Accept hunks and watch nothing."""
    return accept_hunks(
        place, run_id, chosen, Environment(), who="ann", comment="short", budget=budget
    )


def command(root: Path, *arguments: str) -> int:
    """Run a command and return its exit code."""
    return run_code(*arguments, "--workspace", root)


def looks(place: Workspace, run_id: str) -> tuple[LookRecord, ...]:
    """Every look at a run's holdout."""
    events = RunJournal(place.database, run_id).events()
    seals = next(event.payload["seals"] for event in events if event.kind == "split")
    return HoldoutLedger(place.database).history().looks(seals["holdout"])


@dataclass(frozen=True)
class Permit:
    """Leave for a test to open a sealed part."""

    holdout: str


def test_a_part_of_the_diff_is_decided_adopted_and_written_down(
    place: Workspace, accepted: Walked
) -> None:
    """The decision is that of `decide` on the composed text; shelf, run and lists know where it
    comes from.
    """
    choice = accept(place, accepted.run_id, 3, 1)
    expected = replace(PROMPT, criteria=f"{CALM}{PROMPT.criteria}{NUMBERS}")
    assert choice.prompt.to_yaml(lineage=False) == expected.to_yaml(lineage=False)
    assert (choice.hunks, choice.of) == ((1, 3), 3)
    assert choice.gated is not None
    found = read_optimization(place, accepted.run_id)
    holdout = split_dataset(found.config.dataset(), shares=found.config.shares).holdout
    rows = holdout.open(Permit(holdout.content_hash))
    with Client(Simulated()) as client:
        sides = [judge(prompt, rows, client) for prompt in (PROMPT, expected)]
    assert found.slice is not None
    assert found.slice.gated is None
    told = decide(*sides, Terms.of_run(found).objective, alpha=alpha_of_look(2), look=2).to_json()
    assert write_part(choice.decision) == json.loads(json.dumps(told))
    assert choice.decision.accepted
    assert choice.decision.evidence is not None
    assert choice.decision.evidence.simulated
    assert choice.adopted is not None
    kept = place.registry.get("groundedness")
    assert (kept, kept.version, kept.parent) == (choice.adopted, expected.version, PROMPT.version)
    assert kept.note.startswith(
        f"hunks 1, 3 of 3 of run {accepted.run_id}, gated on simulated: precision rose"
    )
    event = RunJournal(place.database, accepted.run_id).events()[-1]
    assert event.kind == "decided"
    assert event.created
    assert dict(event.payload) == {
        "verb": "accepted",
        "who": "ann",
        "comment": "short",
        "hunks": [1, 3],
        "of": 3,
        "gated": choice.gated.run_id,
        "version": kept.version,
        "prompt": kept.to_yaml(),
    }
    (one,) = gated_on(place, kept)
    assert (one.kind, one.outcome, one.run, one.simulated) == (
        HUNKS,
        "accepted",
        choice.gated.run_id,
        True,
    )
    assert verification(place, kept)["verified_on"] == ["simulated"]
    origin = provenance(place, kept)
    assert (origin["run"], origin["outcome"], origin["gated_on"]) == (
        choice.gated.run_id,
        "accepted",
        "simulated",
    )


def test_each_choice_is_a_look_of_its_own_and_only_the_adopted_prompt_starts_anew(
    place: Workspace, accepted: Walked
) -> None:
    """Three choices after the run's look are looks 2 to 4; the count restarts for what came of
    them, not before.
    """
    for look, chosen in enumerate((1, 3), 2):
        decision = accept(place, accepted.run_id, chosen).decision
        assert decision.evidence is not None
        assert (decision.evidence.look, decision.evidence.alpha) == (look, alpha_of_look(look))
    adopted = accept(place, accepted.run_id, 2, 3).adopted
    records = looks(place, accepted.run_id)
    assert [(r.look.purpose, r.look.number, r.look.before) for r in records] == [
        ("gate", 1, PROMPT.version),
        *((HUNKS, number, PROMPT.version) for number in (2, 3, 4)),
    ]
    assert [record.outcome for record in records] == [
        "accepted",
        "undecided",
        "undecided",
        "accepted",
    ]
    ledger, holdout = HoldoutLedger(place.database), records[0].look.holdout
    assert adopted is not None
    later = ledger.begin(look_at(holdout, "later", adopted.version, "x"))
    assert (later.number, later.alpha) == (1, alpha_of_look(1))
    assert ledger.begin(look_at(holdout, "later", PROMPT.version, "x")).number == 6


def test_asking_again_spends_no_look_and_no_call(place: Workspace, accepted: Walked) -> None:
    """The answer is the one that was given, from the same run."""
    once = accept(place, accepted.run_id, 3)
    before = HoldoutLedger(place.database).verify()
    again = accept(place, accepted.run_id, 3, 3)
    assert (once.adopted, again.adopted) == (None, None)
    assert once.gated is not None
    assert again.gated is not None
    assert (again.gated.repeated, again.gated.run_id, again.decision) == (
        True,
        once.gated.run_id,
        once.decision,
    )
    assert HoldoutLedger(place.database).verify() == before
    assert [info.kind for info in list_runs(place.database)] == ["optimize", HUNKS]


def test_an_adoption_that_was_cut_off_is_gone_on_with(place: Workspace, accepted: Walked) -> None:
    """The gate has answered, and the shelf could not be written: asked again, the answer is the one
    it gave.
    """
    (place.root / "prompts").write_text("in the way")
    with pytest.raises(OSError, match="prompts"):
        accept(place, accepted.run_id, 1, 3)
    assert read_optimization(place, accepted.run_id).reviews == ()
    (place.root / "prompts").unlink()
    choice = accept(place, accepted.run_id, 1, 3)
    assert choice.gated is not None
    assert (choice.gated.repeated, choice.adopted) == (True, place.registry.get("groundedness"))
    assert len(looks(place, accepted.run_id)) == 2


def test_an_interrupted_question_says_how_to_go_on(place: Workspace, accepted: Walked) -> None:
    """Ctrl-C keeps the run and its look, and the hint is the command to give."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        accept_hunks(
            place, accepted.run_id, [3, 1], Environment(), who=None, comment="", watch=stop
        )
    assert stopped.value.hint == f"go on with: judgewright accept {accepted.run_id} --hunks 1,3"
    evidence = accept(place, accepted.run_id, 1, 3).decision.evidence
    assert evidence is not None
    assert evidence.look == 2
    assert [info.kind for info in list_runs(place.database)] == ["optimize", HUNKS]


def test_a_holdout_that_a_later_run_saw_decides_no_more(place: Workspace, accepted: Walked) -> None:
    """Rows that were opened since by another split are no holdout; no look is spent."""
    config = read_optimization(place, accepted.run_id).config
    holdout = split_dataset(config.dataset(), shares=config.shares).holdout
    seen = RowFingerprints.of(holdout.open(Permit(holdout.content_hash)))
    HoldoutLedger(place.database).remember(SeenRows(run_id="another", open=seen))
    with pytest.raises(InputError, match="were open to run another"):
        accept(place, accepted.run_id, 3)
    assert len(looks(place, accepted.run_id)) == 1


def test_all_hunks_are_the_runs_own_prompt(place: Workspace, accepted: Walked) -> None:
    """Its decision stands; nothing is asked and no look is spent."""
    before = HoldoutLedger(place.database).verify()
    choice = accept(place, accepted.run_id, 1, 2, 3)
    assert (choice.gated, choice.prompt.version) == (None, EDIT.version)
    assert choice.decision == read_optimization(place, accepted.run_id).decided
    assert place.registry.get("groundedness").version == EDIT.version
    assert HoldoutLedger(place.database).verify() == before
    assert len(list_runs(place.database)) == 1


def test_what_cannot_be_chosen_is_refused_before_anything_is_spent(
    place: Workspace, accepted: Walked
) -> None:
    """No hunk, an unknown one, and a run that somebody has decided about."""
    before = HoldoutLedger(place.database).verify()
    for chosen, message in (
        ((), "no hunk was chosen"),
        ((4,), "no hunk 4; there are 3"),
        ((0,), "no hunk 0"),
    ):
        with pytest.raises(InputError, match=message):
            accept(place, accepted.run_id, *chosen)
    record_review(place, accepted.run_id, accept=False, who="bob", comment="")
    with pytest.raises(InputError, match="already rejected by bob"):
        accept(place, accepted.run_id, 1)
    assert HoldoutLedger(place.database).verify() == before
    assert len(list_runs(place.database)) == 1


def test_a_run_without_a_new_prompt_has_no_hunks(tmp_path: Path) -> None:
    """It says so; nothing is looked at."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    run_id = walk(tmp_path / "work", tmp_path / "rows.jsonl", steps=0)
    with Workspace(tmp_path / "work") as place:
        with pytest.raises(InputError, match="found no better prompt"):
            accept(place, run_id, 1)
        assert looks(place, run_id) == ()


def test_the_rule_of_the_run_decides_and_goes_with_what_is_adopted(tmp_path: Path) -> None:
    """A kept threshold decides for the composed prompt as for the old one."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=150)
    rule = DecisionRule(threshold=PROMPT.scale.threshold)
    fitted = {
        "dataset": "d",
        "dataset_hash": "h",
        "rows": 9,
        "model": "simulated",
        "confidence": "ask",
        "metric": "f1",
    }
    fit = KeptRule(
        rule=rule,
        judge=f"groundedness@{PROMPT.version}",
        asked_at=rule.threshold,
        simulated=True,
        **fitted,
    )
    with Workspace(tmp_path / "work") as place:
        place.registry.keep_rule(PROMPT, fit)
    run_id = walk(tmp_path / "work", tmp_path / "rows.jsonl")
    with Workspace(tmp_path / "work") as place:
        adopted = accept(place, run_id, 1, 3).adopted
        assert adopted is not None
        kept = place.registry.kept_rule(adopted)
        assert kept is not None
        assert (kept.rule, kept.judge) == (rule, f"groundedness@{adopted.version}")


@pytest.mark.parametrize(
    ("after", "chosen", "broken"),
    [
        (replace(PROMPT, criteria="Be strict with numbers."), range(1, 5), "empty"),
        (
            PROMPT.edited(criteria="Mind {{grade}}.\n" + PROMPT.criteria, system="You are strict."),
            [1],
            "not_editable",
        ),
        (
            PROMPT.edited(criteria=f"Mind {{{{tone}}}}.\n{PROMPT.criteria}{NAMES}"),
            [1],
            "placeholder_added",
        ),
    ],
)
def test_a_composed_prompt_that_may_not_be_tried_is_refused_by_name(
    tmp_path: Path, after: JudgePrompt, chosen: list[int], broken: str
) -> None:
    """The names stand in the run's journal; no look is spent, and no run is made."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    config = RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data=str(tmp_path / "rows.jsonl"),
        objective=OBJECTIVE,
        target="precision",
    )
    with Workspace(tmp_path / "work") as place:
        run_id = create_run(place.database, "optimize", config.to_json())
        journal = RunJournal(place.database, run_id)
        journal.record("survivor", {"version": after.version, "prompt": after.to_yaml()})
        journal.record("decision", {"accepted": False, "outcome": "refused", "reason": "worse"})
        journal.record("everything", stored("everything", {}))
        with pytest.raises(NotAccepted, match=broken):
            accept(place, run_id, *chosen)
        event = RunJournal(place.database, run_id).events()[-1]
        assert event.kind == "refused"
        assert any(broken in violation["name"] for violation in event.payload["violations"])
        assert HoldoutLedger(place.database).verify() == 0
        assert len(list_runs(place.database)) == 1


def test_the_budget_is_the_runs_with_all_that_was_spent_for_it(
    place: Workspace, accepted: Walked
) -> None:
    """What the walk used up leaves nothing; a larger budget goes on with the same look, and counts
    every choice.
    """
    used = CallStore(place.database, accepted.run_id).summary().tokens
    with pytest.raises(BudgetSpent, match="rows are left"):
        accept(place, accepted.run_id, 1, budget=f"{used}tokens")
    (stopped,) = (info for info in list_runs(place.database) if info.kind == HUNKS)
    assert stopped.state == "stopped"
    assert [record.outcome for record in looks(place, accepted.run_id)] == ["accepted", None]
    choice = accept(place, accepted.run_id, 1, budget=f"{2 * used}tokens")
    assert choice.gated is not None
    assert choice.gated.run_id == stopped.run_id
    assert [record.outcome for record in looks(place, accepted.run_id)] == ["accepted", "undecided"]
    spent = used + CallStore(place.database, stopped.run_id).summary().tokens
    with pytest.raises(BudgetSpent, match="rows are left"):
        accept(place, accepted.run_id, 2, budget=f"{spent}tokens")


def test_diff_numbers_the_hunks(accepted: Walked, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON have the same."""
    assert command(accepted.root, "diff", accepted.run_id, "--json") == 0
    hunks = json.loads(capsys.readouterr().out)["hunks"]
    assert [hunk["number"] for hunk in hunks] == [1, 2, 3]
    assert command(accepted.root, "diff", accepted.run_id) == 0
    text = capsys.readouterr().out
    for hunk in hunks:
        assert f"{hunk['number']}. criteria, added: +[{hunk['new'][0]}]" in text


def test_the_command_prints_the_decision_and_leaves_by_it(
    accepted: Walked, capsys: pytest.CaptureFixture[str]
) -> None:
    """Undecided tells the rows it would take and leaves with 1; accepted says what the name means
    now.
    """
    run_id = accepted.run_id
    assert command(accepted.root, "accept", run_id, "--hunks", "1") == 1
    told = capsys.readouterr()
    assert "UNDECIDED: precision rose" in told.out
    assert not (accepted.root / "prompts").exists()
    assert command(accepted.root, "accept", run_id, "--hunks", "2,3", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["accepted"], body["hunks"], body["of"], body["run"]) == (True, [2, 3], 3, run_id)
    version = load_prompt(body["prompt"], origin="test").version
    assert body["judge"] == f"groundedness@{version}"
    assert command(accepted.root, "runs", "show", body["gate"]["run"]) == 0
    shown = capsys.readouterr().out
    assert f"hunks 2, 3 of 3 of run {run_id}" in shown
    assert "ACCEPTED: precision rose" in shown
    assert command(accepted.root, "runs", "show", run_id) == 0
    assert "Accepted (hunks 2, 3 of 3) by" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--hunks", "one"), "is not numbers such as 1,3"),
        (("--hunks", ""), "no hunk was chosen"),
        (("--hunks", "9"), "there is no hunk 9"),
        (("--budget", "5.00"), "--budget is for --hunks"),
    ],
)
def test_a_slip_in_the_options_is_the_callers_fault(
    first: Walked, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    """Exit code 2 and a sentence."""
    assert command(first.root, "accept", first.run_id, *options) == 2
    assert message in capsys.readouterr().err


def test_no_sealed_row_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A canary in each row's texts and id: those of sealed rows are in nothing that is printed or
    journaled.
    """
    rows = tmp_path / "rows.jsonl"
    write_demo_rows(rows, documents=150)
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    marked = [
        {
            **line,
            "id": f"CANARY{i:04}",
            **{name: f"{line[name]} canary{i:04}" for name in PROMPT.inputs},
        }
        for i, line in enumerate(lines)
    ]
    rows.write_text("\n".join(map(json.dumps, marked)))
    root = tmp_path / "work"
    run_id = walk(root, rows)
    for command_line in (
        ("diff", run_id),
        ("diff", run_id, "--json"),
        ("accept", run_id, "--hunks", "1"),
        ("accept", run_id, "--hunks", "1", "--json"),
        ("accept", run_id, "--hunks", "2", "--json"),
        ("runs", "list", "--json"),
    ):
        command(root, *command_line)
    with Workspace(root) as place:
        parts = split_dataset(read_optimization(place, run_id).config.dataset())
        own = [info.run_id for info in list_runs(place.database) if info.kind == HUNKS]
        assert len(own) == 2
        for one in (run_id, *own):
            command(root, "runs", "show", one)
            command(root, "runs", "show", one, "--json")
        ids = [
            row.id
            for part in (parts.holdout, parts.final)
            for row in part.open(Permit(part.content_hash)).rows
        ]
    told = capsys.readouterr()
    assert len(ids) > 100
    assert len(told.out) > 5_000
    said = (told.out + told.err).lower()
    assert [name for name in ids if name.lower() in said] == []
