"""What people call a run: it stands for the id, on every kind of store, and when merged."""

import pytest

from judgewright.judges import InputError
from judgewright.runs.store import Database, create_run, find_run, get_run, list_runs
from judgewright.runs.store.run_names import mark_run

LIKE_IDS = ("latest", "2026", "20261121-031502", "ab")


def test_a_name_stands_for_the_run_wherever_an_id_does(database: Database) -> None:
    """Of any kind, as a whole id does; its beginning is no name."""
    run_id = create_run(database, "bench", {})
    create_run(database, "optimize", {})
    assert (get_run(database, run_id).name, get_run(database, run_id).tags) == ("", ())
    mark_run(database, run_id, name="strenger-Zahlen")
    assert find_run(database, "strenger-Zahlen", kinds=("optimize",)) == run_id
    assert [run.name for run in list_runs(database)] == ["strenger-Zahlen", ""]
    for other in ("strenger", "strenger-Zahlen2"):
        with pytest.raises(InputError, match="there is no run") as unknown:
            find_run(database, other)
        assert "`latest` is the last one" in (unknown.value.hint or "")


def test_tags_and_name_are_changed_apart_and_taken_away(database: Database) -> None:
    """Each once, by name; the run itself is as it was."""
    run_id = create_run(database, "bench", {})
    updated = get_run(database, run_id).updated
    mark_run(database, run_id, tags=("faq", "october", "faq"))
    mark_run(database, run_id, name="baseline")
    run = mark_run(database, run_id, name="baseline")
    assert (run.name, run.tags, run.updated) == ("baseline", ("faq", "october"), updated)
    run = mark_run(database, run_id, name="", tags=())
    assert (run.name, run.tags) == ("", ())


def test_two_runs_never_have_one_name(database: Database) -> None:
    """The second is told which run has it; without a name several may be."""
    first, second = (create_run(database, "bench", {}) for _ in range(2))
    mark_run(database, first, name="baseline")
    with pytest.raises(InputError, match=f"run {first} is called 'baseline' already"):
        mark_run(database, second, name="baseline")
    mark_run(database, first, name="")
    assert mark_run(database, second, name="baseline").name == "baseline"


@pytest.mark.parametrize("name", [*LIKE_IDS, "a b", "-x", "x/y", "a:before", "x" * 65, "<b>"])
def test_what_could_be_taken_for_something_else_is_no_name(database: Database, name: str) -> None:
    """An id, the beginning of a job's, an option, a side of a comparison, a path, markup."""
    run_id = create_run(database, "bench", {})
    with pytest.raises(InputError):
        mark_run(database, run_id, name=name)
    if name not in LIKE_IDS:
        with pytest.raises(InputError):
            mark_run(database, run_id, tags=(name,))
    assert get_run(database, run_id).name == ""
