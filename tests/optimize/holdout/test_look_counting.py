"""What counts as a look: no edit of old rows and no prompt measured on them brings the first level
back.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, InputError, Row
from judgewright.optimize.holdout import Ledger, RowFingerprints, row_keys
from judgewright.optimize.holdout.ledger import Look, LookRequest, alpha_of_look
from judgewright.optimize.holdout.sides import SeenRows

from ...look_requests import look_at
from ..in_memory import MemoryLedger

WORDS = [
    "".join(random.Random(i).choices("abcdefghijklmnopqrstuvwxyz", k=3 + i % 6))
    for i in range(3_000)
]


def made_up(seed: int, words: int) -> str:
    """A text of so many words that no other seed has."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def rows_of(numbers: Iterable[int]) -> list[Row]:
    """Rows in threes under one source, each with a statement of its own."""
    return [
        Row(
            id=f"r{i}",
            inputs={"source": made_up(i // 3, 120), "statement": made_up(10_000 + i, 14)},
            label=1.0,
            group=f"g{i // 3}",
        )
        for i in numbers
    ]


OLD = Dataset.of(rows_of(range(90)), labels=BINARY)


def edited(edit: Callable[[str], str]) -> list[Row]:
    """The old rows with their texts edited, under other ids, each a group of its own."""
    return [
        Row(
            id=f"new-{r.id}",
            inputs={name: edit(text) for name, text in r.inputs.items()},
            label=r.label,
        )
        for r in OLD.rows
    ]


def looked_once(rows: Dataset = OLD) -> MemoryLedger:
    """A ledger with one look at some rows, refused."""
    ledger = MemoryLedger()
    ledger.remember(SeenRows(run_id="first", sealed={"old": RowFingerprints.of(rows)}))
    look = ledger.begin(look_at("old", "first", "a", "b"))
    ledger.conclude(look, outcome="refused", reason="no gain")
    return ledger


def next_look(ledger: Ledger, rows: list[Row], **asked: str) -> Look:
    """The look at other rows that comes then."""
    ledger.remember(
        SeenRows(
            run_id="second", sealed={"new": RowFingerprints.of(Dataset.of(rows, labels=BINARY))}
        )
    )
    return ledger.begin(
        LookRequest(holdout="new", run_id="second", **{"before": "a", "after": "c", **asked})
    )


def statement_anew(row: Row, number: int) -> Row:
    """The same source under another statement and id, as a group of its own."""
    inputs = {**row.inputs, "statement": made_up(70_000 + number, 14)}
    return Row(id=f"anew-{number}", inputs=inputs, label=row.label)


def hash_of(text: str) -> int:
    """A number for a text, the same in every process."""
    return sum(ord(letter) * place for place, letter in enumerate(text, 1))


SECOND_LOOKS = {
    "another order, every row its own group": [
        replace(row, group="", id=f"z{i}") for i, row in enumerate(OLD.rows)
    ][::-1],
    "columns exchanged and renamed": [
        Row(id=row.id, inputs={"a": row.inputs["statement"], "b": row.inputs["source"]}, label=1.0)
        for row in OLD.rows
    ],
    "other labels": [replace(row, label=0.0) for row in OLD.rows],
    "capitals, spaces and line ends": edited(lambda text: text.upper().replace(" ", "  \n")),
    "one word before each text": edited(lambda text: f"Well {text}"),
    "one look-alike letter": edited(lambda text: text.replace("e", "\u0435", 1)),
    "look-alikes throughout": edited(
        lambda text: text.translate(str.maketrans("aeocp", "\u0430\u0435\u043e\u0441\u0440"))
    ),
    "statement edited, each row its own group": [
        statement_anew(row, i) for i, row in enumerate(OLD.rows)
    ],
    "diluted by filler rows": [*OLD.rows, *rows_of(range(300, 300 + 25 * 90))],
    "each text diluted": [
        replace(
            row,
            id=f"d{i}",
            inputs={k: f"{v} {made_up(80_000 + i, 200)}" for k, v in row.inputs.items()},
        )
        for i, row in enumerate(OLD.rows)
    ],
    "a few groups of many": list(OLD.rows[:9]),
    "verdict file with other ids": [
        Row(id=f"v{i}", inputs={}, label=row.label, meta=dict(row.inputs))
        for i, row in enumerate(OLD.rows)
    ],
    "verdict file with ids alone": [Row(id=row.id, inputs={}, label=row.label) for row in OLD.rows],
    "verdict file of ours with other ids": [
        Row(id=f"w{i}", inputs={}, meta={"row_key": key.hex()})
        for i, key in enumerate(row_keys(OLD))
    ],
}


@pytest.mark.parametrize("rows", SECOND_LOOKS.values(), ids=SECOND_LOOKS)
def test_old_rows_in_disguise_are_a_second_look(rows: list[Row]) -> None:
    """The next look at them is the second, and says why."""
    look = next_look(looked_once(), rows)
    assert (look.number, look.alpha, look.carried) == (2, alpha_of_look(2), 1)
    assert any(
        "other holdouts with some or all of these rows" in caution for caution in look.cautions
    )


def test_fresh_rows_are_a_first_look() -> None:
    """With the same words, and with a document that one old row quotes too."""
    assert next_look(looked_once(), rows_of(range(300, 390))).number == 1
    notice = made_up(98, 150)
    first = replace(OLD.rows[0], inputs={**OLD.rows[0].inputs, "source": notice})
    others = [replace(r, inputs={**r.inputs, "source": notice}) for r in rows_of(range(300, 390))]
    ledger = looked_once(Dataset.of([first, *OLD.rows[1:]], labels=BINARY))
    look = next_look(ledger, others)
    assert look.number == 1
    assert any("too few to count" in caution for caution in look.cautions)


def test_a_small_overlap_is_told_and_not_counted() -> None:
    """Three old rows among ninety fresh ones and ninety old: under a twentieth of either."""
    look = next_look(looked_once(), [*rows_of(range(300, 390)), *edited(str.upper)[:3]])
    assert (look.number, look.carried) == (1, 0)
    assert look.cautions == (
        (
            "3 rows of a holdout that was looked at before stand here, maybe edited: too few to"
            " count those looks"
        ),
    )


def test_edited_rows_that_were_open_are_refused_and_a_few_are_told() -> None:
    """As the rows themselves are; the same rows sealed again are not."""
    ledger = MemoryLedger()
    parts = {
        "open": RowFingerprints.of(OLD),
        "sealed": {"h": RowFingerprints.of(Dataset.of(rows_of(range(90, 150)), labels=BINARY))},
    }
    ledger.remember(SeenRows(run_id="first", **parts))  # type: ignore[arg-type]
    well = Dataset.of(edited(lambda text: f"Well {text}"), labels=BINARY)
    with pytest.raises(
        InputError,
        match=r"90 of the 90 sealed rows \(in \d+ groups\) are, though edited, rows that were open",
    ):
        ledger.remember(SeenRows(run_id="second", sealed={"k": RowFingerprints.of(well)}))
    few = Dataset.of([*rows_of(range(300, 390)), *well.rows[:3]], labels=BINARY)
    ledger.remember(SeenRows(run_id="third", sealed={"few": RowFingerprints.of(few)}))
    memory = ledger.history().memory("third")
    assert memory is not None
    assert memory.opened == {}
    assert ledger.begin(look_at("few", "third", "a", "b")).cautions == (
        "3 of the 93 sealed rows (in 1 group) are, though edited, rows that were open to run first",
    )
    ledger.remember(SeenRows(run_id="fourth", **parts))  # type: ignore[arg-type]
    again = ledger.history().memory("fourth")
    assert again is not None
    assert (again.opened, again.alike) == ({}, {})


ALL = RowFingerprints.of(Dataset.of(rows_of(range(150)), labels=BINARY))


def measured_ledger(*versions: str) -> MemoryLedger:
    """A ledger where prompts were measured on the whole file before its holdout was sealed."""
    ledger = MemoryLedger()
    for version in versions:
        ledger.measured(version, ALL, by="bench")
    ledger.remember(SeenRows(run_id="run", sealed={"h": RowFingerprints.of(OLD)}))
    return ledger


def test_each_other_prompt_measured_on_the_rows_is_a_look() -> None:
    """The one in use and the candidate itself are none, however often they were measured."""
    assert measured_ledger("a", "a").begin(look_at("h", "run", "a", "b")).number == 1
    assert measured_ledger("a", "b").begin(look_at("h", "run", "a", "b")).number == 1
    look = measured_ledger("a", "v2", "v3", "v3", "b").begin(look_at("h", "run", "a", "b"))
    assert (look.number, look.measured, look.alpha) == (3, 2, alpha_of_look(3))
    assert look.cautions == (
        "2 other prompts were measured on these rows before; each counted as a look",
    )
    named = measured_ledger("verdicts-1").begin(
        LookRequest(holdout="h", run_id="run", before="a", after="b", known_as=("verdicts-1",))
    )
    assert named.number == 1


def test_a_prompt_that_was_measured_and_then_gated_counts_once() -> None:
    """And an accept starts anew: what was measured before it was tried against another prompt."""
    ledger = measured_ledger("v2", "v3")
    second = ledger.begin(look_at("h", "run", "a", "v3"))
    ledger.conclude(second, outcome="refused", reason="no gain")
    assert (second.number, ledger.begin(look_at("h", "run", "a", "v4")).number) == (2, 3)
    accepted = ledger.begin(look_at("h", "run", "a", "v5"))
    ledger.conclude(accepted, outcome="accepted", reason="gain")
    assert ledger.begin(look_at("h", "run", "v5", "v6")).number == 1
    ledger.measured("v2", ALL, by="bench")
    ledger.measured("a", ALL, by="bench")
    assert ledger.begin(look_at("h", "run", "v5", "v7")).number == 3


def test_measuring_elsewhere_costs_nothing() -> None:
    """On open rows, on other rows, or on another model's line."""
    ledger = MemoryLedger()
    ledger.measured(
        "v2", RowFingerprints.of(Dataset.of(rows_of(range(300, 400)), labels=BINARY)), by="bench"
    )
    ledger.remember(SeenRows(run_id="run", sealed={"h": RowFingerprints.of(OLD)}))
    assert ledger.begin(look_at("h", "run", "a", "b")).number == 1
    ledger = measured_ledger("v2")
    assert (
        ledger.begin(
            LookRequest(
                holdout="h",
                run_id="run",
                before="a",
                after="b",
                purpose="recheck",
                line="new model",
            )
        ).number
        == 1
    )


def test_rows_of_an_earlier_version_are_known_by_their_keys_alone() -> None:
    """It kept no fingerprints; its looks count where the rows are the same, word for word."""
    bare = RowFingerprints.from_bytes(RowFingerprints.of(OLD).to_bytes())
    for rows, number in (
        (list(OLD.rows), 2),
        (edited(str.upper), 2),
        (edited(lambda text: f"Well {text}"), 1),
    ):
        ledger = MemoryLedger()
        ledger.remember(SeenRows(run_id="first", sealed={"old": bare}))
        ledger.conclude(
            ledger.begin(look_at("old", "first", "a", "b")),
            outcome="refused",
            reason="no",
        )
        assert next_look(ledger, rows).number == number


def refused_look(ledger: Ledger, run_id: str, rows: Iterable[int], before: str, after: str) -> Look:
    """A look at such rows by a run of its own, refused."""
    part = Dataset.of(rows_of(rows), labels=BINARY)
    ledger.remember(SeenRows(run_id=run_id, sealed={part.content_hash: RowFingerprints.of(part)}))
    look = ledger.begin(look_at(part.content_hash, run_id, before, after))
    ledger.conclude(look, outcome="refused", reason="no gain")
    return look


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 20), st.booleans())
def test_the_pieces_of_a_holdout_spend_together_what_it_may(pieces: int, whole: bool) -> None:
    """However it is cut, the same pair is tested at no first level twice; the whole afterwards is
    the next look.
    """
    ledger = MemoryLedger(max_looks=99)
    size = 60 // pieces
    looks = [
        refused_look(ledger, str(k), range(3 * k * size, 3 * (k + 1) * size), "a", "b")
        for k in range(pieces)
    ]
    if whole:
        looks.append(refused_look(ledger, "whole", range(180), "a", "b"))
    assert [look.number for look in looks] == list(range(1, len(looks) + 1))
    assert sum(look.alpha for look in looks) < 0.05


GROUPS = st.sets(st.integers(0, 30), min_size=4, max_size=20)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(GROUPS, st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=7
    )
)
def test_a_look_counts_where_its_rows_or_its_pair_are_met_again(
    drawn: list[tuple[set[int], str, str]],
) -> None:
    """As set arithmetic counts: rows of the smaller holdout shared beyond a twentieth, or the pair
    of another run.
    """
    ledger = MemoryLedger()
    earlier: list[tuple[set[int], str, str]] = []
    for number, (groups, before, after) in enumerate(drawn):
        rows = [3 * group + i for group in sorted(groups) for i in range(3)]
        if any(groups == others for others, _, _ in earlier):
            continue
        look = refused_look(ledger, str(number), rows, before, after)
        pair = (before, after)
        shared = sum(bool(groups & others) or pair == (old, new) for others, old, new in earlier)
        assert look.number == 1 + shared
        earlier.append((groups, before, after))


def test_thin_pieces_of_other_holdouts_are_added_up() -> None:
    """One of them alone is too few to count; four of three rows each are three looks."""
    numbers = []
    for holdouts in (1, 2, 4):
        ledger = MemoryLedger()
        for k in range(holdouts):
            start = 3_000 * (k + 1)
            refused_look(
                ledger,
                str(k),
                [*range(3 * k, 3 * k + 3), *range(start, start + 90)],
                "a",
                f"other {k}",
            )
        numbers.append(refused_look(ledger, "all", [*range(12), *range(300, 360)], "a", "b").number)
    assert numbers == [1, 2, 4]


def test_an_easy_win_over_another_prompt_brings_nothing_back() -> None:
    """What was tried from the prompt in use counts on, though that is accepted in place of a bad
    one afterwards.
    """
    ledger = MemoryLedger()
    for after in "xyz":
        refused_look(ledger, after, range(90), "a", after)
    part = Dataset.of(rows_of(range(90)), labels=BINARY)
    win = ledger.begin(look_at(part.content_hash, "win", "bad", "a"))
    ledger.conclude(win, outcome="accepted", reason="gain")
    assert ledger.begin(look_at(part.content_hash, "last", "a", "w")).number == 4


def test_a_pair_is_known_again_under_other_rules_and_by_names() -> None:
    """Another threshold is no other pair, unless it is all that is compared; verdict files are
    known by names.
    """
    ledger = MemoryLedger()
    assert [
        refused_look(ledger, str(k), range(90 * k, 90 * k + 90), "a", f"b+{k}").number
        for k in range(3)
    ] == [
        1,
        2,
        3,
    ]
    numbers = [
        refused_look(ledger, f"t{k}", range(900 + 90 * k, 990 + 90 * k), "c", f"c+{k}").number
        for k in range(3)
    ]
    assert numbers == [1, 1, 1]
    for week, number in enumerate((1, 2, 3)):
        part = Dataset.of(rows_of(range(9_000 + 90 * week, 9_090 + 90 * week)), labels=BINARY)
        ledger.remember(
            SeenRows(run_id=f"w{week}", sealed={part.content_hash: RowFingerprints.of(part)})
        )
        look = ledger.begin(
            LookRequest(
                holdout=part.content_hash,
                run_id=f"w{week}",
                before=f"v{week}",
                after=f"u{week}",
                pair=("old.jsonl", "new.jsonl"),
            )
        )
        assert look.number == number
    assert look.cautions == (
        (
            "2 looks at the same two judges, known by their names old.jsonl and new.jsonl, on other"
            " rows counted as looks at this one"
        ),
    )


def test_a_prompt_measured_piece_by_piece_is_a_look() -> None:
    """Pieces of it too small to count alone are added up; rows that were open beside the holdout
    are none of it.
    """
    ledger = MemoryLedger()
    beside = RowFingerprints.of(Dataset.of(rows_of(range(90, 180)), labels=BINARY))
    ledger.remember(SeenRows(run_id="run", open=beside, sealed={"h": RowFingerprints.of(OLD)}))
    for k in range(4):
        piece = Dataset.of(
            [*rows_of(range(3 * k, 3 * k + 3)), *rows_of(range(90, 120))], labels=BINARY
        )
        ledger.measured("v2", RowFingerprints.of(piece), by="bench")
    ledger.measured("v3", beside, by="bench")
    look = ledger.begin(look_at("h", "run", "a", "b"))
    assert (look.number, look.spent) == (2, ("bench of v2",))


UNSEEN = {
    "every fourth word dropped": edited(
        lambda text: " ".join(word for i, word in enumerate(text.split()) if i % 4 != 3)
    ),
    "other texts": edited(lambda text: made_up(len(text) + hash_of(text), 20)),
    "verdicts without texts, under other ids": [
        Row(id=f"other-{i}", inputs={}, label=row.label) for i, row in enumerate(OLD.rows)
    ],
}


@pytest.mark.parametrize("rows", UNSEEN.values(), ids=UNSEEN)
def test_what_the_ledger_cannot_see(rows: list[Row]) -> None:
    """docs/concepts/ways-round-the-ledger.md says so."""
    assert next_look(looked_once(), rows).number == 1


def test_a_short_row_with_a_word_changed_is_another_row() -> None:
    """A dozen words are too few for fingerprints; docs/concepts/ways-round-the-ledger.md says
    so.
    """
    short = [
        Row(id=f"s{i}", inputs={"text": made_up(500_000 + i, 12)}, label=1.0) for i in range(60)
    ]
    changed = [
        Row(
            id=f"c{i}",
            inputs={"text": f"{row.inputs['text'].rsplit(' ', 6)[0]} other {made_up(i, 6)}"},
            label=1.0,
        )
        for i, row in enumerate(short)
    ]
    assert next_look(looked_once(Dataset.of(short, labels=BINARY)), changed).number == 1


PAGE = Path(__file__).resolve().parents[3] / "docs" / "concepts" / "ways-round-the-ledger.md"


def test_the_page_of_ways_round_the_ledger_names_tests_that_there_are() -> None:
    """At least thirty ways, each closed by a test or said to be open."""
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in PAGE.read_text().splitlines()
        if "| " in line
    ]
    ways = [line for line in lines if line[1] in ("closed", "open")]
    assert len(ways) >= 30
    sources = "".join(
        path.read_text(encoding="utf-8") for path in PAGE.parents[2].glob("tests/**/test_*.py")
    )
    for way, state, _, test in ways:
        assert f"def {test.strip('`')}(" in sources or (state == "open" and test == "-"), way
