"""`gate`: one paired decision about prompts or verdict files, entered in the ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from click.testing import Result

from judgewright.judges import BudgetSpent, InputError, Registry
from judgewright.judges.files import load_dataset, load_verdicts
from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.judges.simulated.serve import Faults
from judgewright.optimize.holdout import RowFingerprints, decide
from judgewright.optimize.holdout.ledger import alpha_of_look
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.optimize.losses import read_objective
from judgewright.runs.actions import gated_on, verification
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import HoldoutLedger, Workspace, list_runs

from .run_command import invoke as run_in

PROMPT = Registry().get("groundedness")


def run(place: Workspace, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run `gate --json` and return what it printed."""
    found = invoke(place, *arguments, "--json")
    assert found.exit_code == code, found.output
    return json.loads(found.stdout)


def invoke(place: Workspace, *arguments: object) -> Result:
    """Run `gate` in the workspace."""
    return run_in(place, "gate", *arguments)


def write_verdicts(
    path: Path, wrong: float, *, n: int = 600, seed: int = 0, first: int = 0, **changes: Any
) -> Path:
    """Write verdicts of a judge that is wrong on this share of rows; labels depend on the row
    alone.
    """
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(first, first + n):
        label = (i * 7919) % 10 < 5
        said = label ^ bool(rng.random() < wrong)
        texts = {"statement": f"Statement number {i} says quite enough to be known again."}
        line = {
            "id": f"row-{i}",
            "label": int(label),
            "score": int(said),
            "group": f"g{i // 2}",
            "inputs": texts,
        }
        lines.append(json.dumps(line | changes))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A judge that is wrong on three rows of ten, and one that is wrong on one of twenty."""
    return write_verdicts(tmp_path / "a.jsonl", 0.3), write_verdicts(
        tmp_path / "b.jsonl", 0.05, seed=1
    )


def test_two_verdict_files_are_decided_as_the_gate_decides(
    place: Workspace, files: tuple[Path, Path]
) -> None:
    """Exit 0 and the same decision as `decide` on both tables; the other way round it is refused
    with 1.
    """
    found = run(place, *files, "--target", "f1")
    sides = [load_verdicts(path) for path in files]
    expected = decide(*sides, read_objective("", target="f1"), alpha=alpha_of_look(1)).to_json()
    assert found["decision"] == json.loads(json.dumps(expected))
    assert (found["decision"]["accepted"], found["groups"], found["needed"]) == (True, 300, None)
    back = run(place, *reversed(files), "--target", "f1", code=1)
    assert (back["decision"]["outcome"], back["decision"]["look"]) == ("refused", 1)
    with Workspace(place.root) as again:
        assert HoldoutLedger(again.database).verify() == 6
        assert [info.kind for info in list_runs(again.database)] == ["gate", "gate"]


def test_the_same_question_again_spends_no_look(place: Workspace, files: tuple[Path, Path]) -> None:
    """The answer is the one that was given; another objective is another question, and another
    look.
    """
    first = run(place, *files, "--target", "f1")
    again = run(place, *files, "--target", "f1")
    assert (again["run"], again["repeated"], again["decision"]) == (
        first["run"],
        True,
        first["decision"],
    )
    assert (
        run(place, *files, "--target", "precision", "--guard", "recall:-0.03")["decision"]["look"]
        == 2
    )


def test_what_people_see_is_the_decision_with_its_evidence(
    place: Workspace, tmp_path: Path
) -> None:
    """Undecided tells how many rows it would take; control characters of a file stay inert."""
    old = write_verdicts(tmp_path / "old.jsonl", 0.20, n=200)
    new = write_verdicts(tmp_path / "new\x1b[31m.jsonl", 0.17, n=200, seed=3)
    found = invoke(place, old, new, "--target", "accuracy")
    assert found.exit_code == 1
    assert "UNDECIDED: accuracy rose" in found.stdout
    assert found.stdout.count("holdout rows in") == found.stdout.count("would decide") == 1
    assert "at significance level 0.0304" in found.stdout
    assert "\x1b" not in found.stdout


def test_a_prompt_that_says_yes_more_often_is_told_apart_from_a_better_one(
    place: Workspace, tmp_path: Path
) -> None:
    """Its verdicts are the old grades at a lower threshold: recall rises, and nothing is left at
    the same rate.
    """
    paths = []
    for name, threshold in (("old", 3), ("new", 2)):
        lines = []
        for i in range(400):
            label = (i * 7919) % 10 < 5
            grade = min(3, (i * 31) % 3 + label * ((i // 7) % 2 + 1))
            line = {
                "id": f"row-{i}",
                "label": 3 * label,
                "score": grade if name == "old" else 3 * (grade >= threshold),
            }
            lines.append(
                json.dumps(
                    line | {"group": f"g{i}", "inputs": {"statement": f"Number {i} says enough."}}
                )
            )
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("\n".join(lines) + "\n")
    options = ("--target", "recall", "--scale", "0..3@3", "--guard", "precision:-0.5")
    found = run(place, *paths, *options)
    assert found["decision"]["accepted"]
    assert found["decision"]["target"]["difference"] > 0.1
    equal = found["decision"]["equal_gain"]
    assert (equal["held"], equal["change"]["difference"]) == (
        "false positive rate",
        pytest.approx(0),
    )
    assert "recall gains +0.000 (no interval)" in invoke(place, *paths, *options).stdout


def test_fewer_than_twenty_queries_are_undecided_though_no_column_names_them(
    place: Workspace, tmp_path: Path
) -> None:
    """Rows that share a query are a group of themselves, and the answer says how many groups it
    would take.
    """
    paths = []
    for name, wrong in (("a", 0.3), ("b", 0.05)):
        lines = [
            json.loads(line)
            for line in (
                write_verdicts(tmp_path / f"{name}.jsonl", wrong).read_text().split("\n")[:-1]
            )
        ]
        for i, line in enumerate(lines):
            del line["group"]
            line["inputs"]["query"] = f"query {i % 11}"
        path = tmp_path / f"{name}.few.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        paths.append(path)
    found = run(place, *paths, "--target", "f1", code=1)
    assert (found["groups"], found["decision"]["outcome"]) == (11, "undecided")
    assert found["needed"]["groups"] >= 20
    assert any("share the same query" in note for note in found["notes"])


def test_sentence_and_table_count_the_same_groups(place: Workspace, tmp_path: Path) -> None:
    """Those with a row that the metric is about; the verdicts of more groups have changed."""
    files = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, called_good in zip(files, (21, 14), strict=True):
        lines = (
            {"id": f"r{i}", "group": f"g{i}", "label": i % 2, "score": int(i < called_good)}
            for i in range(60)
        )
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    printed = invoke(place, *files, "--target", "precision").stdout
    assert "only 14 groups of the holdout bear on precision" in printed
    head, _, target = printed[printed.index("metric  ") :].splitlines()[:3]
    assert head.endswith("groups  bear on it")
    assert target.split()[-2:] == ["60", "14"]


def test_rows_that_one_file_lacks_are_unscored_there_and_labels_must_agree(
    place: Workspace, tmp_path: Path
) -> None:
    """A tenth of the rows missing is undecided for its coverage; another label is refused until
    HOLDOUT says.
    """
    a = write_verdicts(tmp_path / "a.jsonl", 0.3)
    b = write_verdicts(tmp_path / "b.jsonl", 0.05, n=540, seed=1)
    found = run(place, a, b, "--target", "f1", code=1)
    assert (found["rows"], found["decision"]["coverage_after"]) == (600, 0.9)
    flipped = write_verdicts(tmp_path / "c.jsonl", 0.05, seed=1)
    lines = flipped.read_text().split("\n")
    flipped.write_text("\n".join([lines[0].replace('"label": 1', '"label": 0'), *lines[1:]]))
    refused = invoke(place, a, flipped, "--target", "f1")
    assert "different labels for 1 rows, such as 'row-0'" in str(refused.exception)
    assert run(place, a, flipped, a, "--target", "f1")["rows"] == 600


def test_a_holdout_file_says_which_rows_count(
    place: Workspace, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    """Only its rows are decided on, with its labels and groups."""
    holdout = tmp_path / "holdout.jsonl"
    kept = [json.loads(line) for line in files[0].read_text().splitlines()[:300]]
    holdout.write_text(
        "\n".join(json.dumps({"id": k["id"], "label": k["label"], "group": k["id"]}) for k in kept)
    )
    found = run(place, *files, holdout, "--target", "f1")
    assert (found["rows"], found["groups"]) == (300, 300)


def test_columns_of_a_matrix_are_named_behind_the_file(place: Workspace, tmp_path: Path) -> None:
    """`FILE:NAME` takes one judge; without a name, or with a wrong one, the names are listed."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(400):
        label = i % 2
        verdicts = {"old": label ^ int(rng.random() < 0.3), "new": label ^ int(rng.random() < 0.05)}
        lines.append(
            json.dumps({"id": f"r{i}", "label": label, "verdicts": verdicts, "group": f"g{i}"})
        )
    path = tmp_path / "matrix.jsonl"
    path.write_text("\n".join(lines))
    assert run(place, f"{path}:old", f"{path}:new", "--target", "kappa")["after"] == "new"
    for name in ("", ":nobody"):
        refused = invoke(place, f"{path}{name}", f"{path}:new", "--target", "kappa")
        assert isinstance(refused.exception, InputError)
        assert "old" in f"{refused.exception} {refused.exception.hint}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("A", "B"), "better at what"),
        (("A", "A", "--target", "f1"), "say the same of every row"),
        (("A", "groundedness", "--target", "f1"), "one side is a verdict file"),
        (
            ("groundedness", "groundedness", "A", "--target", "f1", "--model", "simulated"),
            "the same prompt",
        ),
        (("groundedness", "answer_relevance", "--target", "f1"), "need the rows"),
        (("A", "B", "--target", "f1", "--limit", "3"), "--limit is for judges"),
        (
            ("groundedness", "answer_relevance", "A", "--target", "f1", "--clip"),
            "--clip is for verdict files",
        ),
        (("A", "B", "--target", "f1", "--slice", "length > 3"), "lies in the slice"),
        (("A", "nobody.jsonl", "--target", "f1"), "no verdict file"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_look_is_spent(
    place: Workspace, files: tuple[Path, Path], arguments: tuple[str, ...], message: str
) -> None:
    """The refusal names what is wrong; the ledger stays empty."""
    named = {"A": str(files[0]), "B": str(files[1])}
    found = invoke(place, *(named.get(a, a) for a in arguments))
    assert isinstance(found.exception, InputError), found.output
    assert message in str(found.exception)
    with Workspace(place.root) as again:
        assert not again.exists or HoldoutLedger(again.database).verify() == 0


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Some two hundred made-up labelled rows."""
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=60)
    return path


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """The shipped groundedness judge with another first criterion, which the simulated model
    reads.
    """
    path = tmp_path / "edited.yaml"
    criteria = "Every number and name must stand in the source.\n" + PROMPT.criteria
    path.write_text(replace(PROMPT, criteria=criteria).to_yaml())
    return path


def test_two_judges_are_asked_about_the_holdout(place: Workspace, rows: Path, edited: Path) -> None:
    """Both prompts are asked, all is marked simulated, the version counts as gated, and asking
    again asks nothing.
    """
    terms = ("--target", "precision", "--guard", "recall:-0.2", "--model", "simulated")
    arguments = ("groundedness", edited, rows, *terms)
    found = invoke(place, *arguments, "--json")
    body = json.loads(found.stdout)
    assert found.exit_code == (0 if body["decision"]["accepted"] else 1)
    assert (body["model"], body["simulated"], body["decision"]["simulated"]) == (
        "simulated",
        True,
        True,
    )
    dataset = load_dataset(rows, inputs=PROMPT.inputs, scale=PROMPT.scale)
    assert body["calls"] + body["recorded"] == 2 * len(dataset) == 2 * body["rows"]
    assert json.loads(invoke(place, *arguments, "--json").stdout)["calls"] == 0
    with Workspace(place.root) as again:
        new = Registry().get(str(edited))
        (known,) = gated_on(again, new)
        assert (known.model, known.outcome, known.kind) == (
            "simulated",
            body["decision"]["outcome"],
            "gate",
        )
        assert "gpt-x" not in verification(again, new)["verified_on"]
        assert "never gated" in verification(again, PROMPT)["note"]


def test_garbled_replies_are_asked_again_on_both_sides_and_a_five_point_guard_still_holds(
    place: Workspace, tmp_path: Path
) -> None:
    """One reply in twenty is garbled, the same one every time for a body: three more rounds leave
    nothing open.
    """
    rows = tmp_path / "many.jsonl"
    write_demo_rows(rows, documents=150)
    path = tmp_path / "strict.yaml"
    numbers = "\nCompare each number with the source, and grade low if it does not appear there."
    path.write_text(replace(PROMPT, criteria=PROMPT.criteria + numbers).to_yaml())
    app = make_app(Simulated(), Faults(garbage=0.05, seed=1))
    with Server(app) as server:
        arguments = ("groundedness", path, rows, "--target", "precision", "--guard", "recall:-0.05")
        asked = (*arguments, "--model", f"judge@{server.base_url}", "--concurrency", 64)
        short = invoke(place, *asked, "--budget", "300000tokens")
        assert isinstance(short.exception, BudgetSpent)
        body = run(place, *asked)
        stats = httpx.get(server.base_url.removesuffix("/v1") + "/stats").json()
    assert (
        stats["billed"] == stats["bodies"]
    )  # what came before the budget ended was not paid again
    decision = body["decision"]
    first, *_, last = decision["asked_again"]
    assert first["repeat"] == 1
    assert 0.05 * body["rows"] < first["rows"] < 0.15 * body["rows"]
    assert last["left"] == decision["unanswered"] == 0
    assert (decision["coverage_before"], decision["coverage_after"]) == (1.0, 1.0)
    again = sum(one["rows"] for one in decision["asked_again"])
    assert stats["bodies"] == 2 * (body["rows"] + again)
    assert (decision["outcome"], decision["guards"][0]["state"]) == ("accepted", "held")


def test_rows_a_run_saw_are_no_holdout_unless_that_is_said(
    place: Workspace, rows: Path, edited: Path
) -> None:
    """They are refused with their number and the run, other id or spelling or not; allowed, the
    decision says so.
    """
    dataset = load_dataset(rows, inputs=PROMPT.inputs, scale=PROMPT.scale)
    groups = sorted({row.group for row in dataset.rows})[:10]
    tuned = replace(dataset, rows=tuple(row for row in dataset.rows if row.group in groups))
    HoldoutLedger(place.database).remember(SeenRows(run_id="run 7", open=RowFingerprints.of(tuned)))
    changed = rows.with_name("changed.jsonl")
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    spelt = [
        line | {"id": f"new-{i}", "statement": line["statement"].upper() + " "}
        for i, line in enumerate(lines)
    ]
    changed.write_text("\n".join(map(json.dumps, spelt)))
    arguments = ("groundedness", edited, changed, "--target", "precision", "--model", "simulated")
    refused = invoke(place, *arguments)
    told = (
        f"{len(tuned.rows)} of the {len(dataset)} sealed rows (in 10 groups) were open to run run 7"
    )
    assert told in str(refused.exception)
    allowed = json.loads(invoke(place, *arguments, "--allow-opened", "--json").stdout)
    assert told in allowed["decision"]["reason"]


def test_a_holdout_cut_short_is_the_same_holdout(place: Workspace, tmp_path: Path) -> None:
    """Fewer of the rows, or an edited label, go on with the looks that were spent; unrelated rows
    begin anew.
    """
    a, b = (
        write_verdicts(tmp_path / "a.jsonl", 0.3),
        write_verdicts(tmp_path / "b.jsonl", 0.29, seed=1),
    )
    run(place, a, b, "--target", "f1", code=1)
    lines = a.read_text().splitlines()[:400]
    holdout = tmp_path / "short.jsonl"
    holdout.write_text("\n".join(lines))
    found = invoke(place, a, b, holdout, "--target", "f1", "--json")
    decision = json.loads(found.stdout)["decision"]
    assert (decision["look"], decision["alpha"]) == (2, alpha_of_look(2))
    assert "1 look at other holdouts" in decision["reason"]
    c, d = (
        write_verdicts(tmp_path / f"{n}.jsonl", 0.3, seed=s, first=5000)
        for n, s in (("c", 4), ("d", 5))
    )
    assert (
        json.loads(invoke(place, c, d, "--target", "f1", "--json").stdout)["decision"]["look"] == 1
    )
