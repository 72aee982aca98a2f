"""`gate --unlabelled`: two prompts judged on rows without labels, decided by the labels that people
then give.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from judgewright.judges import InputError, Registry, load_dataset
from judgewright.optimize.flips import FlipDesign
from judgewright.optimize.holdout import RowFingerprints
from judgewright.optimize.holdout.ledger import alpha_of_look
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.runs.actions import decisions_about, flip_progress, settle_flips
from judgewright.runs.cli import cli
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.labels.session import LabelSession
from judgewright.runs.store import HoldoutLedger, RunJournal, Workspace, get_run, list_runs

from .run_command import invoke

PROMPT = Registry().get("groundedness")
NUMBERS = "\nCompare each number with the source, and grade low if it does not appear there."
BETTER = replace(PROMPT, criteria=PROMPT.criteria + NUMBERS)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pool without labels, a labelled holdout of other rows, and an edited
    prompt.
    """
    folder = tmp_path_factory.mktemp("texts")
    write_demo_rows(folder / "all.jsonl", documents=200)
    rows = read(folder / "all.jsonl")
    documents = list(dict.fromkeys(row["group_id"] for row in rows))
    sealed = set(documents[150:])
    write(folder / "holdout.jsonl", [row for row in rows if row["group_id"] in sealed])
    unlabelled = [{name: value for name, value in row.items() if name != "label"} for row in rows]
    write(folder / "all_unlabelled.jsonl", unlabelled)
    write(folder / "pool.jsonl", [row for row in unlabelled if row["group_id"] not in sealed])
    (folder / "better.yaml").write_text(BETTER.to_yaml())
    return folder


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def ask(
    place: Workspace, texts: Path, *more: object, pool: str = "pool.jsonl", code: int = 1
) -> dict[str, Any]:
    """Put the two prompts through the gate on the pool, and return what it printed."""
    asked = (
        "gate",
        "groundedness",
        texts / "better.yaml",
        texts / pool,
        "--unlabelled",
        "--model",
        "simulated",
    )
    found = invoke(place, *asked, "--target", "accuracy", *more, "--json")
    assert found.exit_code == code, (found.output, found.exception)
    assert found.stdout, found.exception
    return json.loads(found.stdout)


def label(
    place: Workspace, texts: Path, run_id: str, *, annotator: str = "ann", limit: int = 1000
) -> int:
    """Label a queue as the rows' own labels say, and return how many rows were labelled."""
    truth = {row["id"]: float(row["label"]) for row in read(texts / "all.jsonl")}
    with Workspace(place.root) as workspace:
        session = LabelSession(workspace, run_id, annotator)
        count = 0
        while count < limit and (row := session.next()) is not None:
            session.label(truth[row.id], seconds=1.0)
            count += 1
        session.end(done=count < limit)
    return count


def test_two_prompts_are_decided_by_the_labels_of_some_flips(place: Workspace, texts: Path) -> None:
    """The look is entered with the first label; the same command again says what the labels decide,
    once.
    """
    begun = ask(place, texts)
    assert (begun["concluded"], begun["look"], begun["decision"]["outcome"]) == (
        False,
        1,
        "undecided",
    )
    assert begun["calls"] == 2 * begun["rows"]
    with Workspace(place.root) as workspace:
        record = get_run(workspace.database, begun["run"])
        assert (record.kind, record.state) == ("queue", "stopped")
        assert not HoldoutLedger(workspace.database).history().records
        assert flip_progress(workspace, begun["run"]).decision.labels == 0
    first = label(place, texts, begun["run"], limit=3)
    half = ask(place, texts)
    assert (half["run"], half["calls"], half["concluded"]) == (begun["run"], 0, False)
    assert half["evidence"]["labels"] == first == 3
    assert (begun["look_spent"], half["look_spent"]) == (False, True)
    assert "target" not in half["evidence"]
    assert "evidence" not in half["decision"]["reason"]
    shown = invoke(place, "runs", "show", begun["run"]).stdout
    assert "chance alone" not in shown
    assert "people are labelling" in shown
    count = first + label(place, texts, begun["run"])
    assert count < begun["flipped"]
    done = ask(place, texts, code=0)
    assert done["decision"]["accepted"]
    assert done["evidence"]["labels"] == count
    assert ask(place, texts, code=0) == done
    asked = (
        "gate",
        "groundedness",
        texts / "better.yaml",
        texts / "pool.jsonl",
        "--unlabelled",
        "--model",
        "simulated",
    )
    said = invoke(place, *asked, "--target", "accuracy").stdout
    assert f"Next:  name {texts / 'better.yaml'} wherever a command takes a judge" in said
    with Workspace(place.root) as workspace:
        ledger = HoldoutLedger(workspace.database)
        assert [one.outcome for one in ledger.history().records] == ["accepted"]
        events = RunJournal(workspace.database, begun["run"]).events()
        assert [event.kind for event in events] == ["gated"]
        (gated,) = decisions_about(workspace, BETTER)
        assert (gated.outcome, gated.simulated, gated.kind) == ("accepted", True, "queue")
    shown = invoke(place, "runs", "show", begun["run"])
    assert "ACCEPTED: accuracy rises on new groups like these" in shown.stdout


def test_an_abandoned_queue_is_undecided_and_its_look_counts(place: Workspace, texts: Path) -> None:
    """Another question about the same rows is the next look."""
    begun = ask(place, texts)
    label(place, texts, begun["run"], limit=2)
    left = ask(place, texts, "--abandon")
    assert left["concluded"]
    assert left["decision"]["reason"].startswith("abandoned after 2 labels; not shown yet")
    assert ask(place, texts)["decision"] == left["decision"]
    assert ask(place, texts, "--guard", "recall=0.1")["look"] == 2
    with Workspace(place.root) as workspace:
        assert [one.outcome for one in HoldoutLedger(workspace.database).history().records] == [
            "undecided"
        ]


def test_a_queue_without_a_label_costs_no_look(place: Workspace, texts: Path) -> None:
    """However it ends; with one label it is spent, taken back or not, at what others have left of
    it by then.
    """
    begun, pool = ask(place, texts), ask(place, texts, "--guard", "recall=0.2")
    assert (begun["look"], pool["look"]) == (1, 1)
    thrown = ask(place, texts, "--abandon")
    assert (thrown["concluded"], thrown["look_spent"]) == (True, False)
    other = ask(place, texts, "--guard", "recall=0.1")
    label(place, texts, other["run"], limit=1)
    with Workspace(place.root) as workspace:
        ledger = HoldoutLedger(workspace.database)
        assert [one.look.number for one in ledger.history().records] == [1]
        assert LabelSession(workspace, other["run"], "ann").undo()
        session = LabelSession(workspace, pool["run"], "ann")
        assert session.next() is not None
        assert session.label(1.0, seconds=1.0)
        assert [one.look.number for one in ledger.history().records] == [1, 2]
        gated = flip_progress(workspace, pool["run"])
        assert (gated.look.number, gated.look.alpha) == (2, alpha_of_look(2))
        assert (
            FlipDesign.from_json(
                get_run(workspace.database, pool["run"]).config["design"]["flips"]
            ).alpha
            == gated.look.alpha
        )


def test_rows_that_were_open_or_have_a_label_are_left_out(
    place: Workspace, texts: Path, tmp_path: Path
) -> None:
    """With all rows of their groups, and of groups that share a text with them; the answer counts
    them.
    """
    rows = read(texts / "all.jsonl")
    groups = list(dict.fromkeys(row["group_id"] for row in rows))
    for row in rows:
        if row["group_id"] not in groups[10:20]:
            del row["label"]
    seen = write(tmp_path / "seen.jsonl", [row for row in rows if row["group_id"] in groups[:10]])
    dataset = load_dataset(seen, inputs=PROMPT.inputs, scale=PROMPT.scale, require_labels=False)
    with Workspace(place.root) as workspace:
        HoldoutLedger(workspace.database).remember(
            SeenRows(run_id="earlier", open=RowFingerprints.of(dataset))
        )
    found = ask(place, texts, pool=str(write(tmp_path / "mixed.jsonl", rows)))
    labelled = sum(row["group_id"] in groups[10:20] for row in rows)
    notes = "\n".join(found["notes"])
    assert f"{labelled} rows are left out: they have a label" in notes
    (opened,) = [note for note in found["notes"] if "open to an earlier run" in note]
    assert int(opened.split()[0]) >= len(dataset)
    assert found["rows"] == len(rows) - labelled - int(opened.split()[0])


def test_the_holdouts_own_labels_are_taken_in(place: Workspace, texts: Path) -> None:
    """Its rows are no rows of the pool; what they say counts before the first label is asked
    for.
    """
    found = ask(place, texts, "--holdout", texts / "holdout.jsonl", pool="all_unlabelled.jsonl")
    sealed = read(texts / "holdout.jsonl")
    (left_out,) = [note for note in found["notes"] if "stand in the holdout" in note]
    assert int(left_out.split()[0]) >= len(sealed)
    assert found["holdout_rows"] == found["evidence"]["holdout_labels"] == len(sealed)
    assert found["look_spent"]
    assert "target" not in found["evidence"]


def test_how_far_the_queue_is_shows_nothing_of_what_the_labels_say(
    place: Workspace, texts: Path
) -> None:
    """The bound was known before the first label."""
    begun = ask(place, texts)
    with Workspace(place.root) as workspace:
        session = LabelSession(workspace, begun["run"], "ann")
        before = session.progress()
        for _ in range(5):
            assert session.next() is not None
            session.label(0.0, seconds=1.0)
        after = session.progress()
    assert (after.labelled, after.left) == (5, None)
    assert before.most == after.most == begun["most_labels"]


def test_a_second_annotator_who_disagrees_takes_labels_away(place: Workspace, texts: Path) -> None:
    """A row on which the two disagree counts as the worst case; the first then goes on."""
    begun = ask(place, texts, "--second", "all")
    count = label(place, texts, begun["run"])
    with Workspace(place.root) as workspace:
        awaiting = settle_flips(workspace, begun["run"])
        assert awaiting.awaited
        assert awaiting.answer is None
        session = LabelSession(workspace, begun["run"], "bob")
        truth = {row["id"]: float(row["label"]) for row in read(texts / "all.jsonl")}
        turn = 0
        while (row := session.next()) is not None:
            session.label(truth[row.id] if turn % 5 else 1 - truth[row.id], seconds=1.0)
            turn += 1
        assert turn == count
        first = LabelSession(workspace, begun["run"], "ann")
        assert first.next() is not None
        assert not flip_progress(workspace, begun["run"]).ends


@pytest.fixture(scope="module")
def verdicts(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what both prompts said of all rows, once without labels, once as ids and scores
    alone.
    """
    folder = tmp_path_factory.mktemp("verdicts")
    for name, judge in (("old", "groundedness"), ("new", texts / "better.yaml")):
        asked = [
            "bench",
            str(judge),
            str(texts / "all.jsonl"),
            "--model",
            "simulated",
            "--workspace",
            str(folder),
        ]
        assert CliRunner().invoke(cli, [*asked, "--out", str(folder / "all.jsonl")]).exit_code == 0
        rows = read(folder / "all.jsonl")
        write(
            folder / f"{name}.jsonl",
            [{key: row[key] for key in row if key != "label"} for row in rows],
        )
        write(
            folder / f"{name}_bare.jsonl",
            [{"id": row["id"], "score": row["score"]} for row in rows],
        )
    return folder


def ask_files(
    place: Workspace, verdicts: Path, pool: Path, *more: object, bare: str = ""
) -> Result:
    files = verdicts / f"old{bare}.jsonl", verdicts / f"new{bare}.jsonl"
    return invoke(place, "gate", *files, pool, "--unlabelled", "--target", "accuracy", *more)


@pytest.mark.parametrize("bare", ["", "_bare"])
def test_stored_verdicts_are_enough(
    place: Workspace, texts: Path, verdicts: Path, bare: str
) -> None:
    """No model is asked; rows without verdicts are left out, and the labels decide as they do of
    prompts.
    """
    begun = json.loads(ask_files(place, verdicts, texts / "pool.jsonl", "--json", bare=bare).stdout)
    assert begun["calls"] == 0
    assert begun["flipped"] == ask(place, texts)["flipped"]
    count = label(place, texts, begun["run"])
    assert 0 < count < begun["flipped"]
    done = ask_files(place, verdicts, texts / "pool.jsonl", bare=bare)
    assert done.exit_code == 0
    assert "ACCEPTED" in done.stdout


def test_people_are_not_shown_what_a_judge_said(
    place: Workspace, texts: Path, verdicts: Path
) -> None:
    """Also where texts and verdicts stand in one file; a holdout's labels are taken in from its
    own.
    """
    said = {row["id"]: row for row in read(verdicts / "old.jsonl")}
    pool = [{"body": row["source"], **said[row["id"]]} for row in read(texts / "pool.jsonl")]
    for row in pool:
        row["rationale"] = f"a long text about what is wrong with this row {row['rationale']}"
    both = write(verdicts / "both.jsonl", pool)
    begun = json.loads(ask_files(place, verdicts, both, "--json").stdout)
    with Workspace(place.root) as workspace:
        row = LabelSession(workspace, begun["run"], "ann").next()
        assert row is not None
        assert set(row.inputs) == {"body"}
    found = ask_files(
        place,
        verdicts,
        texts / "all_unlabelled.jsonl",
        "--holdout",
        texts / "holdout.jsonl",
        "--json",
    )
    sealed = len(read(texts / "holdout.jsonl"))
    assert json.loads(found.stdout)["holdout_rows"] == sealed
    assert json.loads(found.stdout)["rows"] <= len(read(texts / "all.jsonl")) - sealed


def test_what_a_verdict_file_lacks_is_said(
    place: Workspace, texts: Path, verdicts: Path, tmp_path: Path
) -> None:
    """Rows, ids or texts; nothing is entered where it cannot go on."""
    pool = read(texts / "pool.jsonl")
    renamed = write(tmp_path / "renamed.jsonl", [row | {"id": f"x{row['id']}"} for row in pool])
    edited = write(
        tmp_path / "edited.jsonl", [pool[0] | {"statement": "Something else."}, *pool[1:]]
    )
    for rows, message in (
        (
            renamed,
            (
                f"no row of renamed is in old.jsonl or new.jsonl: ids are 'x{pool[0]['id']}' in the"
                " one and"
            ),
        ),
        (edited, f"judged other texts than the file has now for 1 rows, such as '{pool[0]['id']}'"),
    ):
        assert message in str(ask_files(place, verdicts, rows).exception)
    with Workspace(place.root) as workspace:
        assert not workspace.exists or list_runs(workspace.database) == ()
    write(
        verdicts / "short.jsonl",
        [row for row in read(verdicts / "new_bare.jsonl") if row["id"] != pool[0]["id"]],
    )
    files = verdicts / "old_bare.jsonl", verdicts / "short.jsonl"
    more = [*pool, pool[0] | {"id": "nobody judged it", "group_id": "alone"}]
    asked = (
        "gate",
        *files,
        write(tmp_path / "more.jsonl", more),
        *shlex.split("--unlabelled --target accuracy --json"),
    )
    notes = json.loads(invoke(place, *asked).stdout)["notes"]
    assert "1 rows are left out: neither file has a verdict on them" in notes
    assert "short.jsonl lacks 1 of the rows, which count as unscored" in notes
    missing = invoke(place, "gate", *files, "--unlabelled", "--target", "accuracy")
    assert "which texts are to be labelled?" in str(missing.exception)


def test_what_flips_cannot_decide_is_refused_before_anything_is_asked(
    place: Workspace, texts: Path
) -> None:
    """A metric without a sum, a slice, verdict files, options of the other kind of gate."""
    asked = (
        "gate",
        "groundedness",
        texts / "better.yaml",
        texts / "pool.jsonl",
        "--model",
        "simulated",
    )
    for more, message in (
        (("--unlabelled", "--target", "kappa"), "kappa is no sum over rows"),
        (("--unlabelled", "--target", "f1", "--slice", "genre = x"), "too few to watch a slice"),
        (("--target", "f1", "--abandon"), "--abandon is for --unlabelled"),
    ):
        found = invoke(place, *asked, *more)
        assert isinstance(found.exception, InputError)
        assert message in str(found.exception)
    same = invoke(
        place, "gate", "groundedness", "groundedness", *asked[3:], "--unlabelled", "--target", "f1"
    )
    assert "are the same prompt" in str(same.exception)
    with Workspace(place.root) as workspace:
        assert not workspace.exists or list_runs(workspace.database) == ()
