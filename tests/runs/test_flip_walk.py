"""A decision by flips as a newcomer meets it: two verdict files and a pool of queries and
passages.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from judgewright.judges import InputError
from judgewright.runs.labels.session import LabelSession
from judgewright.runs.store import LabelStore, RunJournal, Workspace, list_runs

from .review.conftest import visit
from .run_command import invoke

WORDS = [
    "river",
    "stone",
    "light",
    "market",
    "garden",
    "winter",
    "engine",
    "paper",
    "signal",
    "copper",
    "forest",
]
ROWS, QUERIES = 160, 8
NAMES = ("pool.jsonl", "old.jsonl", "new.jsonl")


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool of queries and passages, every tenth row the text of the one before, and verdicts of
    two judges.
    """
    folder, draw = tmp_path_factory.mktemp("files"), random.Random(1)
    pool: list[dict[str, Any]] = []
    for i in range(ROWS):
        texts = {
            "query": f"what of the {WORDS[i % QUERIES]} now",
            "passage": " ".join(draw.choices(WORDS, k=30)),
        }
        if i % 10 == 9:
            texts = {name: pool[-1][name] for name in texts}
        pool.append({"id": f"r{i}", **texts})
    said: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
    for row in pool:
        for judge, errs in (("old", 0.45), ("new", 0.05)):
            right = is_relevant(row["passage"]) == (draw.random() >= errs)
            said[judge].append({"id": row["id"], "score": 3 if right else 0})
    write(folder / "pool.jsonl", pool)
    for judge, rows in said.items():
        write(folder / f"{judge}.jsonl", rows)
    return folder


def is_relevant(passage: str) -> bool:
    """What people say of a passage."""
    return passage.split()[0] < "m"


def gate(place: Workspace, files: Path, *more: object) -> Result:
    """Ask which of the two judges is more accurate."""
    asked = (
        *(files / f"{name}.jsonl" for name in ("old", "new", "pool")),
        "--unlabelled",
        "--target",
        "accuracy",
    )
    return invoke(place, "gate", *asked, "--threshold", "2", *more)


def label(place: Workspace, *, limit: int = 1000) -> list[str]:
    """Label the queue as people would, and return the ids that were asked about."""
    ids: list[str] = []
    with Workspace(place.root) as workspace:
        session = LabelSession(workspace, "latest", "ann")
        while len(ids) < limit and (row := session.next()) is not None:
            session.label(float(is_relevant(row.inputs["passage"])), seconds=1.0)
            ids.append(row.id)
        session.end(done=len(ids) < limit)
    return ids


def test_a_note_says_that_another_text_repeats_more_and_the_decision_names_its_unit(
    place: Workspace, files: Path
) -> None:
    """The longest text makes the groups where no column is named, though one may want to decide on
    queries.
    """
    begun = gate(place, files).stdout
    note = (
        "query has 8 values in 160 rows: for a decision about a new query, rather than a new"
        " passage, say --group"
    )
    assert f"{note} query\n" in begun
    assert "on new groups like these, one passage each" in begun
    named = gate(place, files, "--group", "query").stdout
    assert "160 rows in 8 groups" in named
    assert "on new groups like these, one query each" in named
    assert "for a decision about" not in named


def test_the_column_of_the_group_is_read_from_the_pool_and_people_see_it(
    place: Workspace, files: Path
) -> None:
    """The verdict files have ids and scores alone; a query that is the group is still a text to
    read.
    """
    begun = gate(place, files, "--group", "query", "--json")
    assert json.loads(begun.stdout)["groups"] == QUERIES
    shown = invoke(place, "label", "latest").stdout
    assert "── query ──" in shown
    assert "── passage ──" in shown


def test_rows_with_the_same_texts_are_asked_about_once(
    place: Workspace, files: Path, tmp_path: Path
) -> None:
    """The gate counts one label, and `label --out` writes as many rows as there are labels."""
    begun = gate(place, files)
    assert (
        "16 rows have the same texts as another: one label counts for all of them" in begun.stdout
    )
    ids = label(place)
    texts = {
        row["id"]: row["passage"]
        for row in map(json.loads, (files / "pool.jsonl").read_text().splitlines())
    }
    assert len({texts[row_id] for row_id in ids}) == len(ids)
    done = json.loads(gate(place, files, "--json").stdout)
    assert done["evidence"]["labels"] == len(ids)
    written = invoke(place, "label", "latest", "--out", tmp_path / "out.jsonl").stdout
    assert written.startswith(f"{len(ids)} labelled rows in")
    assert "note" not in written


def test_what_people_are_asked_may_be_changed_until_the_first_label(
    place: Workspace, files: Path
) -> None:
    """Then it is refused, because the labels answer what was asked before; without --ask it goes on
    as it was.
    """
    begun = gate(place, files)
    assert "--ask TEXT asks in yours" in begun.stdout
    shown = invoke(place, "label", "latest").stdout
    assert "Should a judge say yes or no to this row?" in shown
    assert "y yes: grade 2 or more, of 0 to 3   n no: less than that" in shown
    asked = gate(place, files, "--ask", "Does it answer the query?")
    assert "--ask TEXT" not in asked.stdout
    assert "Does it answer the query?" in invoke(place, "label", "latest").stdout
    label(place, limit=2)
    assert gate(place, files, "--ask", "Does it answer the query?").exit_code == 1
    refused = gate(place, files, "--ask", "Is it short?").exception
    assert isinstance(refused, InputError)
    assert (
        "the queue has 2 labels, which answer 'Does it answer the query?'; --ask can no longer"
        in str(refused)
    )
    second = gate(place, files, "--second", "all").exception
    assert "--second can no longer change it" in str(second)
    with Workspace(place.root) as workspace:
        (run,) = list_runs(workspace.database)
        assert run.config["question"] == "Does it answer the query?"
        assert len(LabelStore(workspace.database).records()) == 2


def test_who_won_how_many_flips_is_said_once_it_is_decided_and_not_before(
    place: Workspace, files: Path
) -> None:
    """With what to do next; the evidence is said beside what decides."""
    begun = gate(place, files)
    assert (
        "evidence 1.0, and 32.9 decides, which chance alone reaches at most once in 33 times"
        in begun.stdout
    )
    assert "may fall by" not in begun.stdout
    label(place, limit=4)
    for more in ((), ("--json",)):
        half = gate(place, files, *more).stdout
        assert "labelled flips" not in half
    assert json.loads(half)["flips_won"] is None
    ids = label(place)
    done = gate(place, files)
    won = json.loads(gate(place, files, "--json").stdout)["flips_won"]
    flips = flips_with_a_label(place, files)
    assert won["before"] + won["after"] == flips
    assert (
        f"of {flips} labelled flips {won['after']} went to new.jsonl, {won['before']} to old.jsonl"
        in done.stdout
    )
    assert won["after"] > won["before"]
    assert "Next:  use the judge that wrote" in done.stdout
    assert len(ids) > 4
    assert "may fall by" in gate(place, files, "--guard", "recall=0.1").stdout


def flips_with_a_label(place: Workspace, files: Path) -> int:
    """Count the flips among the rows whose passage has a label."""
    rows = {
        name: [json.loads(line) for line in (files / name).read_text().splitlines()]
        for name in NAMES
    }
    with Workspace(place.root) as workspace:
        labelled = {record.row_id for record in LabelStore(workspace.database).records()}
    passages = {row["passage"] for row in rows["pool.jsonl"] if row["id"] in labelled}
    flips = 0
    for row, *said in zip(*rows.values(), strict=True):
        flips += row["passage"] in passages and said[0]["score"] != said[1]["score"]
    return flips


def test_commands_to_copy_name_the_workspace_and_everything_that_was_asked(
    place: Workspace, files: Path
) -> None:
    """At the end of the gate, where labelling is left, and where nothing is left to label."""
    there = f"--workspace {place.root}"
    begun = gate(place, files, "--ask", "Is it?")
    with Workspace(place.root) as workspace:
        run_id = list_runs(workspace.database)[-1].run_id
        assert RunJournal(workspace.database, run_id).events() == ()
    assert f"Label:  judgewright label {run_id} {there}" in begun.stdout
    assert (
        f"Go on with:  judgewright label {run_id} {there}"
        in invoke(place, "label", "latest").stdout
    )
    label(place)
    done = invoke(place, "label", "latest", "--annotator", "ann").stdout
    named = " ".join(str(files / f"{name}.jsonl") for name in ("old", "new", "pool"))
    again = f"judgewright gate {named} --unlabelled --target accuracy --threshold 2"
    assert f"{again} {there}\n" in done
    with visit(place.root) as page:
        assert (
            f"What they decide: <code>{again}</code>"
            in page.get(f"/label/{run_id}?annotator=ann").text
        )
