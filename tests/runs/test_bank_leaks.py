"""No leak by a decided case: what is sealed is shown nowhere, what stood in a bank is never sealed,
and what stands in a bank is no evidence; whatever rows and groups are called.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Case,
    CaseBank,
    Cases,
    Dataset,
    JudgePrompt,
    Registry,
    Row,
)
from judgewright.judges.splits import SEALED
from judgewright.optimize.holdout.bank_rows import without_banked
from judgewright.optimize.holdout.ledger import split_with_memory
from judgewright.optimize.holdout.sides import known_sides
from judgewright.runs.store import HoldoutLedger, Workspace
from judgewright.runs.store.banks import hide_sealed, keep_banks
from judgewright.runs.store.sealed_rows import read_open, seal_first

PLAIN = Registry().get("groundedness")
WORDS = [
    f"{a}{b}{c}"
    for a in ("bra", "kel", "mo", "tir", "zu")
    for b in ("n", "lst", "ff")
    for c in ("ad", "er", "ol", "umy")
]


@dataclass(frozen=True)
class File:
    """Labelled rows about sources of some length, each statement with a word of its own."""

    seed: int
    groups: int
    words: int
    named: bool
    """Whether a column names the groups."""

    def rows(self) -> list[Row]:
        """Two or three statements about each source."""
        random = Random(self.seed)
        rows: list[Row] = []
        for group in range(self.groups):
            source = " ".join(random.choices(WORDS, k=self.words)).capitalize() + "."
            for _ in range(random.randint(2, 3)):
                own = f"canary{self.seed}x{len(rows)}"
                statement = " ".join([own, *random.choices(WORDS, k=random.randint(6, 12))])
                row = Row(
                    id=f"r{len(rows)}",
                    inputs={"source": source, "statement": statement},
                    label=float(random.randint(0, 1)),
                    group=f"d{group}" if self.named else source,
                )
                rows.append(row)
        return rows


FILES = st.builds(
    File,
    seed=st.integers(0, 10**6),
    groups=st.integers(24, 36),
    words=st.integers(8, 90),
    named=st.booleans(),
)


def dataset(rows: list[Row]) -> Dataset:
    """Rows as a file has them."""
    return Dataset.of(rows, labels=BINARY, name="rows")


def copied(row: Row, way: str, number: int, random: Random) -> Case:
    """A row as it stands in a bank of another file: under other names, in another spelling, edited
    by a word, or as another statement about the same source.
    """
    inputs = dict(row.inputs)
    if way == "respelled":
        inputs = {name: f"  {text.upper()} " for name, text in inputs.items()}
    elif way == "edited":
        words = inputs["source"].split()
        words[random.randrange(len(words))] = "edited"
        inputs["source"] = " ".join(words)
    elif way == "another statement":
        inputs["statement"] = " ".join(random.choices(WORDS, k=8))
    kept = {"id": row.id, "group": row.group} if way == "same" else {"id": f"other{number}"}
    return Case(inputs=inputs, label=int(row.label or 0), **kept)


WAYS = ("same", "renamed", "respelled", "edited", "another statement")


def with_bank(cases: list[Case]) -> JudgePrompt:
    """A judge that shows every case that it may."""
    bank = CaseBank(cases=tuple(cases), labels=BINARY)
    return replace(PLAIN, cases=Cases(bank=bank, count=len(cases), balanced=False))


def foreign_bank(
    file: File, rows: list[Row], ways: list[str]
) -> tuple[JudgePrompt, list[Row | None]]:
    """A judge with a bank of copies of some rows and of rows that stand nowhere else; and of which
    row each case is.
    """
    random = Random(file.seed + 1)
    origins = random.sample(rows, min(len(rows), 20))
    cases = [copied(row, ways[n % len(ways)], n, random) for n, row in enumerate(origins)]
    others = replace(file, seed=file.seed + 10**7, groups=3, named=False).rows()
    cases += [copied(row, "renamed", 100 + n, random) for n, row in enumerate(others)]
    return with_bank(cases), [*origins, *(None for _ in others)]


@contextmanager
def workspace() -> Iterator[Workspace]:
    """A new one."""
    with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder)) as place:
        yield place


def ways_of(file: File) -> st.SearchStrategy[list[str]]:
    """An edited word in a short source is not told from another source."""
    ways = WAYS if file.words >= 40 else tuple(way for way in WAYS if way != "edited")
    return st.lists(st.sampled_from(ways), min_size=1, max_size=3)


CASES = FILES.flatmap(lambda file: st.tuples(st.just(file), ways_of(file)))
SLOW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(drawn=CASES)
def test_a_sealed_row_is_shown_before_no_row(drawn: tuple[File, list[str]]) -> None:
    """Of a bank from elsewhere only what has nothing of a sealed row is shown, and the rest is."""
    file, ways = drawn
    rows = file.rows()
    with workspace() as place:
        seal_first(place, dataset(rows))
        left_out = read_open(place, dataset(rows)).left_out
        sealed = {row.group for row, out in zip(rows, left_out, strict=True) if out}
        prompt, origins = foreign_bank(file, rows, ways)
        assert prompt.cases is not None
        measured = hide_sealed(place, prompt)
        assert measured.version == prompt.version
        hidden = {*measured.hidden_cases}
        for case, origin in zip(prompt.cases.bank.cases, origins, strict=True):
            assert (case.key in hidden) == (origin is not None and origin.group in sealed)
        keep_banks(place, prompt)
        assert (read_open(place, dataset(rows)).left_out == left_out).all(), "sealed as before"
        for row in rows[:5]:
            shown = measured.shown_cases.text(row)
            for other in rows:
                assert other.group not in sealed or other.inputs["statement"] not in shown


@SLOW
@given(drawn=CASES)
def test_what_stood_in_a_bank_is_never_sealed(drawn: tuple[File, list[str]]) -> None:
    """Whether the file is split by a run, grows first, or is sealed whole."""
    file, ways = drawn
    rows = file.rows()
    with workspace() as place:
        prompt, origins = foreign_bank(file, rows, ways)
        keep_banks(place, prompt)
        groups = {origin.group for origin in origins if origin is not None}
        memories = HoldoutLedger(place.database).memories()
        parts = split_with_memory(
            memories, None, dataset(rows), (30, 20, 30, 20), allow_opened=False
        )
        open_groups = {row.group for part in (parts.train, parts.validation) for row in part.rows}
        assert groups <= open_groups
        for name, sides in known_sides(memories, dataset(rows)).items():
            assert not sides & SEALED, name


@SLOW
@given(drawn=CASES)
def test_what_stands_in_a_bank_is_no_evidence(drawn: tuple[File, list[str]]) -> None:
    """Its whole group leaves, and nothing else."""
    file, ways = drawn
    rows = file.rows()
    prompt, origins = foreign_bank(file, rows, ways)
    groups = {origin.group for origin in origins if origin is not None}
    evidence = without_banked(dataset(rows), (PLAIN, prompt))
    assert [row for row in rows if row.group not in groups] == [*evidence.rows.rows]
    assert evidence.left_out == sum(row.group in groups for row in rows)
    assert evidence.of_groups == len(groups)


@SLOW
@given(drawn=CASES)
def test_no_case_of_a_rows_own_group_stands_before_it(drawn: tuple[File, list[str]]) -> None:
    """Where names in the bank are others, its texts tell; and all else is shown."""
    file, ways = drawn
    rows = file.rows()
    prompt, origins = foreign_bank(file, rows, ways)
    for row in rows:
        numbers = {*prompt.shown_cases.choose(row)}
        for number, origin in enumerate(origins):
            assert (number in numbers) == (origin is None or origin.group != row.group)
