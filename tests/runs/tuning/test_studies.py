"""Studies in a file: what the next trial is, whatever happened to the last one, and which setting decided."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.judges.errors import WorkspaceError
from judgewright.judges.registry import Registry
from judgewright.optimize.tuning import Knobs
from judgewright.runs.tuning.studies import LEAST_TRIALS, Trials, open_study, survivor_of

FIRST = Knobs(batch=8, temperature=0.7, gradients=1)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A file with a name that would mean something in a URL."""
    return tmp_path / "studies ?#%41.db"


def made_up(knobs: Knobs) -> float:
    """A loss that the batch size decides."""
    return 0.3 * (math.log2(knobs.batch) - 3.5) ** 2 / 6 + 0.001 * (knobs.gradients or 0)


def walk(trials: Trials, until: int) -> list[Knobs]:
    """Finish trials with made-up losses until there are so many, and return all of their settings."""
    while len(trials.finished()) < until:
        trial, knobs = trials.begin()
        trials.finish(trial, loss=made_up(knobs), calls=10, survivor=None)
    return [trials.knobs(trial) for trial in trials.finished()]


def test_trials_left_unfinished_change_nothing_about_those_that_follow(file: Path) -> None:
    """Cut off again and again, a study proposes what it would have proposed, also past the random start."""
    with open_study(file, "calm") as study:
        calm = walk(Trials(study, FIRST, rows=100, seed=5), 9)
    rough: list[Knobs] = []
    for until in (0, 1, 3, 6, 6, 9):
        with open_study(file, "rough") as study:
            trials = Trials(study, FIRST, rows=100, seed=5)
            rough = walk(trials, until)
            trials.begin()
    assert rough == calm
    assert calm[0] == FIRST
    assert len(set(calm)) == 9
    with open_study(file, "seed") as study:
        assert walk(Trials(study, FIRST, rows=100, seed=6), 3)[1:] != calm[1:3]


@pytest.mark.parametrize(
    "first",
    [
        Knobs(batch=200, temperature=1.6, gradients=9),
        Knobs(batch=1, temperature=0.0, gradients=None),
        Knobs(batch=3, temperature=None, gradients=2),
    ],
)
def test_the_first_trial_has_the_settings_given_wherever_they_lie(file: Path, first: Knobs) -> None:
    """The search reaches as far as the settings given, and leaves out what a proposer does not have."""
    with open_study(file, "s") as study:
        found = walk(Trials(study, first, rows=20, seed=0), 5)
    assert found[0] == first
    for knobs in found:
        assert 1 <= knobs.batch <= max(20, first.batch)
        assert (knobs.temperature is None) == (first.temperature is None)
        assert (knobs.gradients is None) == (first.gradients is None)


def test_a_survivor_comes_back_as_it_was(file: Path) -> None:
    """The prompt that a trial ended with, and that it ended with none, outlive the process."""
    prompt = Registry().get("groundedness").edited(criteria="Zahlen müssen stimmen.\nOnly — what is said.", note="")
    for kept in (prompt, None):
        with open_study(file, "s") as study:
            trials = Trials(study, FIRST, rows=20, seed=0)
            trials.finish(trials.begin()[0], loss=0.25, calls=7, survivor=kept)
    with open_study(file, "s") as study:
        first, second = Trials(study, FIRST, rows=20, seed=0).finished()
    found = survivor_of(first)
    assert found is not None
    assert (found.version, found.criteria) == (prompt.version, prompt.criteria)
    assert survivor_of(second) is None
    assert (first.value, first.user_attrs["calls"]) == (0.25, 7)


def test_the_setting_that_decides_is_named_once_trials_tell(file: Path) -> None:
    """Importance is a share of one, JSON, the same every time, and absent for few trials or equal losses."""
    with open_study(file, "s") as study:
        trials = Trials(study, FIRST, rows=100, seed=0)
        walk(trials, LEAST_TRIALS - 1)
        assert trials.importance() is None
        walk(trials, 12)
        shares = trials.importance()
        assert shares is not None
        assert next(iter(shares)) == "batch"
        assert sum(json.loads(json.dumps(shares)).values()) == pytest.approx(1.0)
        assert {type(share) for share in shares.values()} == {float}
        assert trials.importance() == shares
    with open_study(file, "flat") as study:
        trials = Trials(study, FIRST, rows=100, seed=0)
        for _ in range(LEAST_TRIALS):
            trials.finish(trials.begin()[0], loss=0.5, calls=1, survivor=None)
        assert trials.importance() is None


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """What the disk refuses is an error of ours."""
    with pytest.raises(WorkspaceError, match="No such file"), open_study(tmp_path / "none" / "studies.db", "s"):
        pass
