"""What a data check sees: duplicates, contradictions, leaks over splits,
sizes, tokens.
"""

import json
import tracemalloc
from pathlib import Path

import pytest

from judgewright.judges import BINARY, Dataset, Registry, Row, split_dataset
from judgewright.judges.files import (
    COUNTED,
    KINDS,
    DataReport,
    RawRoles,
    check_rows,
    count_row_tokens,
    read_raw_rows,
)
from judgewright.judges.models import approximate_tokens, count_tokens

DATA = Path(__file__).resolve().parents[3] / "../shared/data"
needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="the shared data are not beside the checkout"
)

LONG = (
    "The brill bridge over the lower tarn was opened in the spring of 1911 after nine years of work"
    " by three firms that had never built anything of the kind before, and it has carried trams,"
    " carts and people ever since."
)
OTHER = (
    "Larch bark is peeled in June, dried under a roof for a whole year, and burnt in small stoves"
    " by the lake."
)


def row(
    name: str, source: str, statement: str = "It is so.", label: float | None = 1.0, **more: str
) -> Row:
    """Return a row whose group is its own unless one is given."""
    group = more.pop("group", name)
    return Row(
        id=name,
        inputs={"source": source, "statement": statement},
        label=label,
        group=group,
        meta=more,
    )


def check(*rows: Row, **options: object) -> DataReport:
    """Check rows."""
    return check_rows(rows, name="rows", group_column="group_id", **options)  # type: ignore[arg-type]


def seen(report: DataReport, kind: str) -> tuple[str, ...]:
    """Return the first ids of a sighting, all of them here."""
    assert report.sightings[kind].rows == len(report.sightings[kind].first)
    return report.sightings[kind].first


def test_equal_rows_are_duplicates_and_contradictions_only_with_other_labels() -> None:
    """Spaces do not tell rows apart; a missing label contradicts nothing."""
    report = check(
        row("a", LONG, label=1),
        row("b", LONG.replace(" ", "  "), label=0),
        row("c", OTHER),
        row("d", OTHER, label=None),
    )
    assert seen(report, "exact_duplicates") == ("b", "d")
    assert seen(report, "conflicting_labels") == ("a", "b")
    assert seen(report, "near_duplicates") == ()


def test_one_changed_word_is_near_and_ties_groups_while_another_statement_does_not() -> None:
    """Near duplicates are so in every input; a shared source under two statements ties the groups
    only.
    """
    changed = LONG.replace("trams", "lorries")
    report = check(row("a", LONG), row("b", changed), row("c", OTHER))
    assert seen(report, "near_duplicates") == ("b",)
    assert seen(report, "tied_groups") == ("a", "b")
    source = " ".join(f"word{k}" for k in range(200))
    rows = (
        row("a", source, "The bridge is old."),
        row("b", source + " more", "Nobody walks on it."),
        row("c", OTHER),
    )
    report = check(*rows)
    assert seen(report, "near_duplicates") == ()
    assert seen(report, "tied_groups") == ("a", "b")


def test_rows_of_one_group_are_not_tied_by_what_they_share() -> None:
    """Only another group counts."""
    report = check(row("a", LONG, group="g"), row("b", LONG, group="g"), row("c", OTHER, group="h"))
    assert seen(report, "tied_groups") == ()


def test_empty_far_longer_and_oversized_inputs_are_seen() -> None:
    """The column that is empty is named; the largest is not sent at all."""
    rows = [row(f"r{i}", f"{OTHER} {i}") for i in range(40)]
    report = check(*rows, row("gap", "  "), row("long", LONG * 100), row("huge", "x" * 400_001))
    assert seen(report, "empty_inputs") == ("gap",)
    assert report.sightings["empty_inputs"].columns == ("source",)
    assert seen(report, "far_longer") == ("long", "huge")
    assert seen(report, "oversized") == ("huge",)


def test_labels_groups_and_lengths_are_counted() -> None:
    """Counts are by value, quantiles are values that occur."""
    report = check(
        row("a", "one", label=0),
        row("b", "three", label=2, group="a"),
        row("c", "x", label=None, group=""),
    )
    assert (report.labels, report.unlabelled) == ({"0": 1, "2": 1}, 1)
    groups = report.groups
    assert (groups.count, groups.largest, groups.largest_name, groups.alone) == (2, 2, "a", 1)
    lengths = report.lengths["source"]
    assert (lengths.median, lengths.longest, lengths.longest_id) == (3, 5, "b")


def test_a_report_is_json_and_every_sighting_has_a_phrase() -> None:
    """Nothing in it is of a kind that JSON does not know."""
    report = check(row("a", LONG))
    assert json.loads(json.dumps(report.to_json()))["rows"] == 1
    assert set(report.sightings) == set(KINDS)


def test_tokens_of_inputs_follow_the_stated_estimate_without_a_known_model() -> None:
    """The sum over inputs, row by row."""
    rows = [row("a", LONG), row("b", OTHER, "東京")]
    summary = count_row_tokens(rows, model="unknown")
    each = [sum(approximate_tokens(text) for text in r.inputs.values()) for r in rows]
    assert (summary.total, summary.longest, summary.counted) == (sum(each), max(each), 2)
    assert summary.method.startswith("estimate")


def test_tokens_of_a_judge_count_every_message_with_its_overhead() -> None:
    """What is counted is what `messages` renders, four tokens more each."""
    prompt = Registry().get("groundedness")
    rows = [row("a", LONG), row("b", OTHER)]
    summary = count_row_tokens(rows, model="unknown", prompt=prompt)
    expected = sum(
        count_tokens(m.content, "unknown").n + 4 for r in rows for m in prompt.messages(r)
    )
    assert (summary.total, summary.calls, summary.of) == (
        expected,
        2,
        f"groundedness@{prompt.version}",
    )


def test_a_long_file_is_counted_in_part_and_the_largest_row_is_counted_always() -> None:
    """The total is scaled up; with equal rows it is exact."""
    rows = [row(f"r{i}", OTHER) for i in range(3 * COUNTED)]
    summary = count_row_tokens(rows, model="unknown")
    assert (summary.counted, summary.calls) == (COUNTED, 3 * COUNTED)
    assert summary.total == summary.median * 3 * COUNTED
    rows[1] = row("long", LONG * 50)
    assert count_row_tokens(rows, model="unknown").longest > 10 * summary.longest


def test_tied_groups_are_those_a_split_joins() -> None:
    """Two knots of two and three groups: the splitter loses three groups, the check names all five
    rows.
    """
    texts = {name: " ".join(f"{name}{k}" for k in range(90)) for name in "xyzuvw"}
    near = dict(zip("abcdefghi", "xxyyyzuvw", strict=True))
    rows = [row(name, f"{texts[text]} {name}") for name, text in near.items()]
    report = check(*rows)
    assert seen(report, "tied_groups") == ("a", "b", "c", "d", "e")
    assert split_dataset(Dataset.of(rows, labels=BINARY)).merged == 3


@pytest.mark.slow
def test_of_a_giant_text_only_the_beginning_is_compared(tmp_path: Path) -> None:
    """Ten megabytes of short words cost a few times that, not twenty; a note says it, lengths are
    of the whole.
    """
    giant = "one two six " * 900_000
    rows = [row("a", giant), row("b", giant), row("c", giant + "and more"), row("d", LONG)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": r.id, "label": 1, **r.inputs}) + "\n" for r in rows))
    tracemalloc.start()
    try:
        raw = read_raw_rows(path, RawRoles(), judges={})
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        report = check_rows(raw.rows, name="rows", group_column=None)
        assert tracemalloc.get_traced_memory()[1] - before < 100_000_000
    finally:
        tracemalloc.stop()
    assert seen(report, "exact_duplicates") == ("b",)
    assert report.lengths["source"].longest == len(giant) + len("and more")
    assert [raw.rows[0].group == other.group for other in raw.rows] == [True, True, False, False]
    assert "of a text in 3 rows only the first 1,000,000 characters were compared" in report.notes


def test_progress_is_told_row_by_row_and_ends_complete() -> None:
    """Each row counts once."""
    rows = [Row(id=str(i), inputs={"text": f"text {i}"}) for i in range(30)]
    told: list[tuple[int, int]] = []
    check_rows(
        rows, name="n", group_column=None, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(done, 30) for done in range(1, 31)]
