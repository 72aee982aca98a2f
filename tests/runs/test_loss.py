"""`loss`: an objective is read back, a loss is written or linted, and people see what every outcome
costs.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from judgewright.judges import InputError
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.optimize.losses import parse_loss
from judgewright.runs.commands.loss import loss
from judgewright.runs.store import CallStore, Workspace, list_runs

SENTENCE = "raise precision; recall may fall by 3 points"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    """Run the command; errors of ours come through as they are."""
    return CliRunner().invoke(loss, arguments, catch_exceptions=False)


def test_an_objective_is_read_back_and_every_cost_is_shown() -> None:
    """Plain words first, then the loss, then a table of two places by two confidences."""
    result = run("write", SENTENCE, "--model", "simulated")
    assert result.exit_code == 0
    out = result.output
    assert (
        "Raise precision by making fewer false positives; recall may fall by at most 3 points."
        in out
    )
    assert "SIMULATED" in out
    assert "declares: a false positive costs more than a false negative" in out
    table = [
        line for line in out.splitlines() if line.startswith(("  in no slice", "  in slice target"))
    ]
    assert len(table) == 4
    assert "fp_near" in out


def test_a_written_loss_is_recorded_and_checks(folder: Path) -> None:
    """The file that `write` leaves is accepted by `lint` as the same loss; asking again asks
    nothing.
    """
    first = json.loads(
        run("write", SENTENCE, "--model", "simulated", "--out", "loss.json", "--json").output
    )
    again = json.loads(run("write", SENTENCE, "--model", "simulated", "--json").output)
    assert first["simulated"]
    assert first["objective"]["guards"] == [{"metric": "recall", "margin": 0.03}]
    assert (again["calls"], again["loss"]) == (0, first["loss"])
    assert parse_loss((folder / "loss.json").read_text()).version == first["loss"]["version"]
    linted = run("check", "loss.json", "--objective", SENTENCE, "--json")
    assert linted.exit_code == 0
    body = json.loads(linted.output)
    assert body["loss"]["version"] == first["loss"]["version"]
    assert body["cost_table"] == first["cost_table"]
    with Workspace(folder) as place:
        runs = list_runs(place.database)
        assert {found.kind for found in runs} == {"loss"}
        done = [CallStore(place.database, found.run_id).summary().done for found in runs]
        assert sorted(done) == [0, first["calls"]]


def test_a_model_that_never_writes_a_loss_ends_in_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An endpoint whose replies are cut off is asked four times, each with twice the room when it
    was cut; then the documented default stands, with reasons. The first has little room at first,
    as nobody knows how fast it writes."""
    with Server(make_app(Simulated(), Faults.parse("truncate=1"))) as server:
        monkeypatch.setenv("JUDGEWRIGHT_API_KEY", "k")
        body = json.loads(
            run("write", SENTENCE, "--model", f"m@{server.base_url}", "--json").output
        )
    assert body["loss"]["written_by"] == "default"
    assert len(body["refusals"]) == 4
    assert body["calls"] == 9
    assert body["cost_table"]


@pytest.mark.parametrize(
    ("arguments", "axioms"),
    [
        (
            ["correct"],
            {
                "right costs more than wrong",
                "free false positive",
                "free false negative",
                "perfect is dear",
            },
        ),
        (["fp"], {"free false negative"}),
        (["1 - correct", "--declares", "fp"], {"declaration"}),
        (["1 - correct", "--objective", "precision"], {"objective"}),
        (["open('x')"], {"language"}),
        (["2 * fp + fn"], {"out of range"}),
    ],
)
def test_every_refusal_is_told_and_the_exit_code_is_one(
    arguments: list[str], axioms: set[str]
) -> None:
    """A refused loss has no table; its reasons go by the names of the axioms, in text and in
    JSON.
    """
    as_text, as_json = run("check", *arguments), run("check", *arguments, "--json")
    assert (as_text.exit_code, as_json.exit_code) == (1, 1)
    body = json.loads(as_json.output)
    assert {refusal["axiom"] for refusal in body["refusals"]} == axioms
    assert (body["accepted"], body["cost_table"]) == (False, [])
    assert all(f"  {axiom}: " in as_text.output for axiom in axioms)


def test_a_judge_s_own_scale_is_taken() -> None:
    """The scale of a named judge is the one the table is about."""
    by_distance = "0.5 * (1 - correct) + 0.5 * rank_distance / (n_levels - 1)"
    shown = run("check", by_distance, "--judge", "groundedness").output
    assert "tried on the judge's grades 0..3, positive at 2" in shown
    assert "0.667" in shown
    assert "0.667" not in run("check", by_distance, "--scale", "binary").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "fp", "--judge", "groundedness", "--scale", "0..3"], "not both"),
        (["check", "fp", "--scale", "often"], "--scale"),
        (["check", "gone.json"], "cannot be read"),
        (["check", "binary.json"], "not UTF-8"),
        (["check", "loss.json", "--declares", "fp"], "says itself"),
        (["write", "  ", "--model", "simulated"], "empty"),
        (["write", "better", "--model", "simulated", "--target", "nonsense"], "not a metric"),
    ],
)
def test_what_the_caller_got_wrong_is_said(
    folder: Path, arguments: list[str], message: str
) -> None:
    """Flags, files and scales that cannot be used end in an InputError, before anything is
    asked.
    """
    (folder / "binary.json").write_bytes(b"\xff\xfe")
    (folder / "loss.json").write_text("{}")
    with pytest.raises(InputError, match=message):
        run(*arguments)
    assert not (folder / ".judgewright").exists()


def test_a_loss_for_classes_is_written_and_shown_class_by_class() -> None:
    """No false positive anywhere: people's class by what it is called, with the objective's class
    charged more.
    """
    written = run("write", "raise recall[support]", "--judge", "routing", "--model", "simulated")
    assert written.exit_code == 0
    assert "Raise recall[support]" in written.output
    assert "false positive" not in written.output
    head = next(line.split() for line in written.output.splitlines() if "called orders" in line)
    assert head[:3] == ["place", "confidence", "label"]
    body = json.loads(
        run("write", "accuracy", "--judge", "routing", "--model", "simulated", "--json").output
    )
    assert {line["label"] for line in body["cost_table"]} == {
        "orders",
        "inventory",
        "support",
        "staff",
    }


def test_a_loss_for_classes_is_checked_as_one() -> None:
    """It may compare classes, has no false positives, and must charge the objective's class
    more.
    """
    by_class = "(1 if label == 'support' else 0.3) * (1 - correct)"
    wish = ("--objective", "recall[support]")
    assert run("check", by_class, "--judge", "routing", *wish).exit_code == 0
    against = run("check", by_class, "--judge", "routing", "--objective", "recall[staff]")
    assert against.exit_code == 1
    assert "label == 'staff' must cost more" in against.output
    assert run("check", "fp + 0.5 * fn", "--judge", "routing").exit_code == 1


def test_the_objective_of_a_check_is_read_without_a_model() -> None:
    """Words are refused; the reading of exact ones stands at the head, also of a refusal."""
    with pytest.raises(InputError, match="not settled"):
        run("check", "fp + 0.4 * fn", "--objective", "fewer false alarms")
    settled = run("check", "fp + 0.4 * fn", "--objective", "raise precision")
    assert settled.exit_code == 1
    assert "read as:   Raise precision by making fewer false positives" in settled.output
