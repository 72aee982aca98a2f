"""What every ledger of looks keeps, tried on the one in memory."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, InputError, Row, WorkspaceError, split_dataset
from judgewright.optimize.holdout import Ledger, Overlap, RowFingerprints, seen_rows
from judgewright.optimize.holdout.ledger import GateOutcome, LookRequest, alpha_of_look
from judgewright.optimize.holdout.sides import SeenRows

from ...look_requests import look_at
from ..in_memory import MemoryLedger


def test_the_spent_levels_sum_to_alpha() -> None:
    """The series of 1/t^2 sums to pi^2/6 (Euler); the tail after N terms lies between 1/(N+1) and
    1/N.
    """
    spent = sum(alpha_of_look(t) for t in range(1, 10_001))
    tail = 0.05 * 6 / 3.141592653589793**2
    assert 0.05 - tail / 10_000 <= spent <= 0.05 - tail / 10_001
    assert alpha_of_look(1) == pytest.approx(0.0303964, abs=1e-7)
    assert alpha_of_look(2) == pytest.approx(0.0075991, abs=1e-7)


def test_looks_are_counted_from_one() -> None:
    """A look before the first has no level."""
    with pytest.raises(ValueError, match="0"):
        alpha_of_look(0)


def look_and_say(
    ledger: Ledger, holdout: str, name: str, outcome: GateOutcome, *, before: str = "a"
) -> float:
    """Open a holdout for one candidate and conclude; return what it spent."""
    look = ledger.begin(look_at(holdout, "run", before, name))
    ledger.conclude(look, outcome=outcome, reason="because")
    return look.alpha


def test_each_look_spends_less_and_an_accept_starts_anew_from_the_accepted_prompt() -> None:
    """Refused and undecided looks count, and one never concluded; from the old prompt, an accept
    counts.
    """
    ledger = MemoryLedger()
    spent = [
        look_and_say(ledger, "h", str(i), outcome)
        for i, outcome in enumerate(("refused", "undecided"))
    ]
    ledger.begin(look_at("h", "run", "a", "cut off"))
    spent.append(look_and_say(ledger, "h", "good", "accepted"))
    spent.append(look_and_say(ledger, "h", "next", "refused", before="good"))
    spent.append(look_and_say(ledger, "h", "again", "refused"))
    assert spent == [alpha_of_look(t) for t in (1, 2, 4, 1, 6)]
    assert look_and_say(ledger, "another holdout", "x", "refused") == alpha_of_look(1)


def test_the_same_look_begun_again_is_the_same_look() -> None:
    """A resumed run spends nothing more; another run does."""
    ledger = MemoryLedger()
    look = ledger.begin(look_at("h", "run", "a", "b"))
    assert ledger.begin(look_at("h", "run", "a", "b")) == look
    assert ledger.begin(look_at("h", "other", "a", "b")).number == 2
    assert ledger.begin(look_at("h", "run", "a", "b")) == look
    assert len(ledger.history().looks("h")) == 2


def test_a_conclusion_stands() -> None:
    """Said again it is nothing new; said otherwise it is refused, and so is one about no look."""
    ledger = MemoryLedger()
    look = ledger.begin(look_at("h", "run", "a", "b"))
    ledger.conclude(look, outcome="accepted", reason="one")
    ledger.conclude(look, outcome="accepted", reason="one")
    with pytest.raises(WorkspaceError, match="'accepted'"):
        ledger.conclude(look, outcome="refused", reason="two")
    with pytest.raises(WorkspaceError, match="never begun"):
        MemoryLedger().conclude(look, outcome="accepted", reason="one")
    assert [(r.outcome, r.reason) for r in ledger.history().looks("h")] == [("accepted", "one")]


def test_a_spent_holdout_asks_for_fresh_labels() -> None:
    """Beyond the last look nothing is entered; the looks already begun can be gone on with."""
    ledger = MemoryLedger(max_looks=3)
    for i in range(3):
        look_and_say(ledger, "h", str(i), "refused")
    with pytest.raises(InputError, match="fresh labels"):
        ledger.begin(look_at("h", "run", "a", "3"))
    assert ledger.begin(look_at("h", "run", "a", "1")).number == 2
    assert len(ledger.history().looks("h")) == 3


def rows_of(
    numbers: Iterable[int], *, tag: str = "", edit: str = "", label: float = 1.0
) -> Dataset:
    """Rows in groups of two under one source, each with a statement of its own."""
    rows = (
        Row(
            id=f"{tag}{i}",
            inputs={
                "source": f"Document {i // 2} tells at length what happened there.",
                "statement": f"{edit}Something number {i} happened in that place.",
            },
            label=label,
            group=f"{tag}{i // 2}",
        )
        for i in numbers
    )
    return Dataset.of(rows, labels=BINARY)


def known(numbers: Iterable[int], **changes: str) -> RowFingerprints:
    """The keys of such rows."""
    return RowFingerprints.of(rows_of(numbers, **changes))


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_rows_are_met_again_by_whole_groups(mine: set[int], others: set[int]) -> None:
    """What is counted is what set arithmetic on the groups counts; writing and reading keys changes
    nothing.
    """
    found = known(mine).met_in(RowFingerprints.from_bytes(known(others).to_bytes()))
    groups = {i // 2 for i in mine} & {i // 2 for i in others}
    assert found == Overlap(rows=sum(i // 2 in groups for i in mine), groups=len(groups))


@pytest.mark.parametrize(
    "changed",
    [
        rows_of(range(20), tag="other-"),
        rows_of(range(20), edit="Really: "),
        rows_of(range(20), label=0.0),
        rows_of(reversed(range(20))),
        Dataset.of(
            [
                Row(
                    id=r.id,
                    inputs={"a": r.inputs["statement"].upper() + " ", "b": r.inputs["source"]},
                )
                for r in rows_of(range(20)).rows
            ],
            labels=BINARY,
        ),
    ],
    ids=[
        "ids and groups",
        "an edited statement",
        "labels",
        "order",
        "names of columns, capitals and spaces",
    ],
)
def test_a_change_of_form_makes_no_fresh_row(changed: Dataset) -> None:
    """Rows are known by what they say."""
    assert RowFingerprints.of(changed).met_in(known(range(20))).rows == 20


def test_a_text_that_many_groups_have_tells_nothing() -> None:
    """A refusal that stands under many queries, or a short answer, does not make other rows the
    same.
    """
    said = "I am sorry, but I cannot answer that question."

    def answers(names: Iterable[str], said: str) -> RowFingerprints:
        rows = (Row(id=n, inputs={"query": f"what is {n}", "answer": said}, group=n) for n in names)
        return RowFingerprints.of(Dataset.of(rows, labels=BINARY))

    assert answers("abc", said).met_in(answers("xyz", said)) == Overlap(rows=0, groups=0)
    assert answers("a", "yes").met_in(answers("x", "yes")) == Overlap(rows=0, groups=0)


def test_rows_without_texts_are_known_by_name_and_line_numbers_only_within_their_file() -> None:
    """Verdict files may hold nothing but ids; `1` is in every one of them."""

    def bare(ids: Iterable[str], label: float = 1.0) -> RowFingerprints:
        return RowFingerprints.of(
            Dataset.of([Row(id=i, inputs={}, label=label) for i in ids], labels=BINARY)
        )

    assert bare(["q1-p1", "q1-p2"]).met_in(bare(["q1-p1", "q1-p2"], label=0.0)).rows == 2
    assert bare("123").met_in(bare("123", label=0.0)).rows == 0
    assert bare("123").met_in(bare("123")).rows == 3


def test_a_run_with_the_same_rows_and_split_is_never_refused() -> None:
    """Its holdout was sealed in the earlier run too, though a passage stands on both sides under
    two questions.
    """
    rows = [
        Row(
            id=f"{q}-{p}",
            inputs={
                "query": f"question {q}",
                "passage": f"The passage {p} of the pool is long enough.",
            },
            group=str(q),
        )
        for q in range(60)
        for p in (q, q + 1)
    ]
    parts = split_dataset(Dataset.of(rows, labels=BINARY))
    ledger = MemoryLedger()
    for run in ("first", "second"):
        ledger.remember(seen_rows(run, parts))
        memory = ledger.history().memory(run)
        assert memory is not None
        assert memory.opened == {}
        for part in (parts.holdout, parts.final):
            assert ledger.begin(look_at(part.content_hash, run, "a", "b")).carried == 0
    sizes = (memory.open.rows, memory.sealed[parts.holdout.content_hash].rows)
    assert sizes == (len(parts.train) + len(parts.validation), len(parts.holdout))


def test_rows_of_a_bank_are_not_said_to_have_been_open_to_a_run() -> None:
    """The ledger has them under the name of the bank."""
    ledger = MemoryLedger()
    ledger.remember(SeenRows(run_id="decided cases (a1)", open=known(range(40))))
    with pytest.raises(InputError, match=r"were open to a bank of decided cases \(a1\);"):
        ledger.remember(SeenRows(run_id="second", sealed={"k": known(range(30, 70))}))


def test_rows_that_were_open_are_no_holdout() -> None:
    """Refused with their number and the run, and nothing is entered; allowed, the look says so."""
    ledger = MemoryLedger()
    ledger.remember(
        SeenRows(run_id="first", open=known(range(40)), sealed={"h": known(range(40, 60))})
    )
    sealed = {"k": known(range(30, 70), tag="new-")}
    with pytest.raises(
        InputError, match=r"10 of the 40 sealed rows \(in 5 groups\) were open to run first"
    ):
        ledger.remember(SeenRows(run_id="second", sealed=sealed))
    ledger.remember(SeenRows(run_id="second", sealed=sealed), allow_opened=True)
    ledger.remember(SeenRows(run_id="second", sealed=sealed))
    assert "10 of the 40" in ledger.begin(look_at("k", "second", "a", "b")).cautions[0]
    assert ledger.begin(look_at("h", "first", "a", "b")).opened == ""


def test_looks_at_the_same_rows_under_another_hash_go_on_counting() -> None:
    """Each look that shares rows counts, either way, and none over a chain; a twentieth of the
    groups is nothing.
    """
    ledger = MemoryLedger()
    parts = {"h": range(400), "cut": range(200), "fresh": range(380, 800), "later": range(360, 800)}
    for run, (holdout, numbers) in enumerate(parts.items()):
        ledger.remember(SeenRows(run_id=str(run), sealed={holdout: known(numbers)}))
    for i in range(3):
        look_and_say(ledger, "h", str(i), "refused")
    look = ledger.begin(look_at("cut", "run", "a", "b"))
    assert (look.number, look.carried, look.alpha) == (4, 3, alpha_of_look(4))
    assert "3 looks at other holdouts" in look.cautions[0]
    assert ledger.begin(look_at("h", "run", "a", "again")).number == 5
    assert ledger.begin(look_at("cut", "run", "a", "c")).number == 6
    assert ledger.begin(look_at("fresh", "run", "a", "b")).number == 1
    assert ledger.begin(look_at("later", "run", "a", "b")).number == 6
    assert ledger.begin(look_at("unknown", "run", "a", "b")).number == 1


def test_an_accept_starts_anew_on_its_own_holdout_only() -> None:
    """From the prompt accepted there; the other holdout goes on counting its own looks."""
    ledger = MemoryLedger()
    ledger.remember(SeenRows(run_id="1", sealed={"h": known(range(100))}))
    ledger.remember(SeenRows(run_id="2", sealed={"cut": known(range(60))}))
    look_and_say(ledger, "h", "1", "refused")
    look_and_say(ledger, "cut", "good", "accepted")
    assert ledger.begin(look_at("cut", "run", "good", "x")).number == 1
    assert ledger.begin(look_at("h", "run", "good", "x")).number == 3
    assert ledger.begin(look_at("h", "run", "a", "x")).number == 5


def test_a_line_of_its_own_counts_its_own_looks() -> None:
    """A recheck on another model neither spends of the others nor is held to what they spent."""
    ledger = MemoryLedger()
    for i in range(4):
        look_and_say(ledger, "h", str(i), "refused")
    first = ledger.begin(
        LookRequest(
            holdout="h", run_id="run", before="a", after="b", purpose="recheck", line="new model"
        )
    )
    assert (first.number, first.line) == (1, "new model")
    assert (
        ledger.begin(
            LookRequest(holdout="h", run_id="run", before="a", after="c", line="new model")
        ).number
        == 2
    )
    assert ledger.begin(look_at("h", "run", "a", "b")).number == 5
