"""Flips: open rows alone, from the record alone, told as people would count them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import (
    InputError,
    ModelError,
    Registry,
    Unscored,
    load_dataset,
    split_dataset,
)
from judgewright.runs import actions
from judgewright.runs.actions import RunResult, flips_of, read_run, start_run
from judgewright.runs.actions.flips import BothSides, Flips
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import RunConfig, RunJournal, Workspace, create_run

from .stored_events import stored

PROMPT = Registry().get("groundedness")
EDIT = PROMPT.edited(
    criteria=(
        f"{PROMPT.criteria}\nCompare each number with the source, and grade low if it does not"
        " appear there."
    )
)


def both_sides(place: Workspace, run_id: str) -> BothSides:
    """The open rows of a run, by both prompts."""
    return actions.both_sides(place, read_run(place, run_id))


def flips(place: Workspace, run_id: str) -> Flips:
    """The rows that changed sides in a run."""
    return flips_of(both_sides(place, run_id))


def start(place: Workspace, **given: object) -> RunResult:
    """Start a run of a person's edit and watch nothing."""
    config = RunConfig(
        **{  # type: ignore[arg-type]
            "prompt": PROMPT.to_yaml(),
            "model": "simulated",
            "data": str(place.root / "rows.jsonl"),
            "objective": "precision; recall may fall by 30 points",
            "proposer": "human",
            "edit": EDIT.to_yaml(),
            "slice": "channel = web",
            **given,
        }
    )
    return start_run(place, config, Environment())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with rows, to be run in."""
    root = tmp_path_factory.mktemp("flips")
    write_demo_rows(root / "rows.jsonl", documents=120)
    with Workspace(root) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def run(place: Workspace) -> RunResult:
    """A run that found a prompt."""
    result = start(place)
    assert result.run.after is not None
    return result


def test_flips_are_the_rows_that_two_tables_of_answers_disagree_on(
    place: Workspace, run: RunResult
) -> None:
    """Counted anew from the frames of both sides: right, wrong, which error, and how many rows
    there are.
    """
    found, sides = flips(place, run.run_id), both_sides(place, run.run_id)
    assert sides.after is not None
    frame = (
        sides.before.to_frame()
        .set_index("id")
        .join(sides.after.to_frame().set_index("id")["predicted"].rename("now"))
    )
    was_right, is_right = frame["predicted"] == frame["positive"], frame["now"] == frame["positive"]
    mended, made = frame[~was_right & is_right], frame[was_right & ~is_right]
    assert (found.right, found.wrong, found.n) == (len(mended), len(made), len(frame))
    assert found.right > 0
    by_direction = {
        which: {flip.row_id for flip in found.rows if flip.direction == which}
        for which in ("became right", "became wrong")
    }
    assert by_direction == {"became right": {*mended.index}, "became wrong": {*made.index}}
    false_positives = set(mended.index[~mended["positive"].astype(bool)]) | set(
        made.index[~made["positive"].astype(bool)]
    )
    assert {flip.row_id for flip in found.rows if flip.error == "FP"} == false_positives
    assert all(flip.in_slice == (flip.meta["channel"] == "web") for flip in found.rows)


def test_no_sealed_row_is_among_them_and_nothing_is_asked(place: Workspace, run: RunResult) -> None:
    """The rows are those that the run's own split left open, and the record grows by nothing."""
    before = place.database.read("SELECT count(*) FROM call")
    rows = load_dataset(place.root / "rows.jsonl", inputs=PROMPT.inputs, scale=PROMPT.scale)
    parts = split_dataset(rows, shares=(30, 20, 30, 20))
    allowed = {row.id for part in (parts.train, parts.validation) for row in part.rows}
    sides = both_sides(place, run.run_id)
    assert {row.id for row in sides.before.dataset.rows} == allowed
    assert {flip.row_id for flip in flips(place, run.run_id).rows} <= allowed
    assert place.database.read("SELECT count(*) FROM call") == before


def test_a_run_that_has_not_ended_shows_the_rows_that_both_were_asked_about(
    place: Workspace, run: RunResult
) -> None:
    """Up to its end the training rows may have one answer alone."""
    cut = create_run(place.database, "optimize", run.run.record.config)
    journal = RunJournal(place.database, cut)
    for event in run.run.events:
        if event.kind != "everything":
            journal.record(event.kind, event.payload)
    sides, whole = both_sides(place, cut), both_sides(place, run.run_id)
    assert sides.after is not None
    ids = [[row.id for row in side.dataset.rows] for side in (sides.before, sides.after)]
    assert ids[0] == ids[1]
    assert len(ids[0]) < len(whole.before.dataset)


def test_a_flip_carries_what_a_person_needs_to_judge_it(place: Workspace, run: RunResult) -> None:
    """Inputs, label, both verdicts, and the changed words of the rationale, which give both
    back.
    """
    for flip in flips(place, run.run_id).rows:
        assert set(flip.inputs) >= {"source", "statement"}
        assert flip.positive == (flip.label >= 1)
        before, after = flip.sides["before"], flip.sides["after"]
        assert (before["positive"] == flip.positive) == (flip.direction == "became wrong")
        assert "".join(p.text for p in flip.rationale if p.kind != "new") == before["rationale"]
        assert "".join(p.text for p in flip.rationale if p.kind != "old") == after["rationale"]


def test_an_answer_that_is_missing_is_no_flip(place: Workspace, run: RunResult) -> None:
    """A row that was given up on one side is counted on neither."""
    first = flips(place, run.run_id).rows[0]
    sides = both_sides(place, run.run_id)
    i = next(i for i, row in enumerate(sides.before.dataset.rows) if row.id == first.row_id)
    answers = list(sides.before.answers)
    answers[i] = Unscored(row_id=first.row_id, reason="endpoint")
    lost = replace(sides, before=replace(sides.before, answers=tuple(answers)))
    found = flips_of(lost)
    assert found.n == len(answers) - 1
    assert first.row_id not in {flip.row_id for flip in found.rows}


def test_a_run_without_a_survivor_has_no_flips_and_one_that_has_not_chosen_says_so(
    place: Workspace,
) -> None:
    """Nothing changed sides where there is no other side."""
    bare = start(place, steps=0, proposer="textgrad", edit=None)
    assert flips(place, bare.run_id).rows == ()
    assert (flips(place, bare.run_id).n, both_sides(place, bare.run_id).after) == (0, None)
    waiting = create_run(
        place.database,
        "optimize",
        {"prompt": PROMPT.to_yaml(), "data": "x", "objective": "precision"},
    )
    with pytest.raises(InputError, match="has chosen no prompt yet"):
        flips(place, waiting)
    other = create_run(place.database, "bench", {})
    with pytest.raises(InputError, match="not an optimization"):
        flips(place, other)


def test_rows_that_would_be_cut_otherwise_now_are_not_shown(place: Workspace) -> None:
    """Where the sealed parts are not those that the run sealed, an open row may be a sealed one:
    nothing is shown.
    """
    config = {
        "prompt": PROMPT.to_yaml(),
        "data": str(place.root / "rows.jsonl"),
        "objective": "precision",
    }
    config["model"] = "simulated"
    run = create_run(place.database, "optimize", config)
    journal = RunJournal(place.database, run)
    journal.record("split", stored("split", {}))
    journal.record("slice", stored("slice", {}))
    journal.record("survivor", {"version": None, "prompt": None})
    with pytest.raises(InputError, match="not split as it was"):
        both_sides(place, run)


def test_changed_rows_are_refused(tmp_path: Path) -> None:
    """Rows that are not the run's are not shown as if they were."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    with Workspace(tmp_path) as place:
        run = start(place, slice="all")
        lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
        (tmp_path / "rows.jsonl").write_text("\n".join(lines[1:]), encoding="utf-8")
        with pytest.raises(InputError, match="has changed"):
            flips(place, run.run_id)


def test_an_answer_that_is_not_in_the_record_is_an_error_and_not_a_guess(tmp_path: Path) -> None:
    """A record that was emptied is noticed."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    with Workspace(tmp_path) as place:
        run = start(place, slice="all")
        place.database.submit(
            lambda c: c.execute("UPDATE call SET state = 'sent', response_json = NULL") and None
        ).result()
        with pytest.raises(ModelError, match="not in the record"):
            flips(place, run.run_id)
