"""What every ledger of looks keeps, tried on the one in memory."""

import pytest

from judgewright.judges.errors import InputError, WorkspaceError
from judgewright.optimize.ledger import Ledger, LookOutcome, MemoryLedger, alpha_of_look


def test_the_spent_levels_sum_to_alpha() -> None:
    """The series of 1/t^2 sums to pi^2/6 (Euler); the tail after N terms lies between 1/(N+1) and 1/N."""
    spent = sum(alpha_of_look(t) for t in range(1, 10_001))
    tail = 0.05 * 6 / 3.141592653589793**2
    assert 0.05 - tail / 10_000 <= spent <= 0.05 - tail / 10_001
    assert alpha_of_look(1) == pytest.approx(0.0303964, abs=1e-7)
    assert alpha_of_look(2) == pytest.approx(0.0075991, abs=1e-7)


def test_looks_are_counted_from_one() -> None:
    """A look before the first has no level."""
    with pytest.raises(ValueError, match="0"):
        alpha_of_look(0)


def look_and_say(ledger: Ledger, holdout: str, name: str, outcome: LookOutcome, *, before: str = "a") -> float:
    """Open a holdout for one candidate and conclude; return what it spent."""
    look = ledger.begin(holdout, run_id="run", before=before, after=name)
    ledger.conclude(look, outcome=outcome, reason="because")
    return look.alpha


def test_each_look_spends_less_and_an_accept_starts_anew_from_the_accepted_prompt() -> None:
    """Refused and undecided looks count, and one never concluded; from the old prompt, an accept counts."""
    ledger = MemoryLedger()
    spent = [look_and_say(ledger, "h", str(i), outcome) for i, outcome in enumerate(("refused", "undecided"))]
    ledger.begin("h", run_id="run", before="a", after="cut off")
    spent.append(look_and_say(ledger, "h", "good", "accepted"))
    spent.append(look_and_say(ledger, "h", "next", "refused", before="good"))
    spent.append(look_and_say(ledger, "h", "again", "refused"))
    assert spent == [alpha_of_look(t) for t in (1, 2, 4, 1, 6)]
    assert look_and_say(ledger, "another holdout", "x", "refused") == alpha_of_look(1)


def test_the_same_look_begun_again_is_the_same_look() -> None:
    """A resumed run spends nothing more; another run does."""
    ledger = MemoryLedger()
    look = ledger.begin("h", run_id="run", before="a", after="b")
    assert ledger.begin("h", run_id="run", before="a", after="b") == look
    assert ledger.begin("h", run_id="other", before="a", after="b").number == 2
    assert ledger.begin("h", run_id="run", before="a", after="b") == look
    assert len(ledger.looks("h")) == 2


def test_a_conclusion_stands() -> None:
    """Said again it is nothing new; said otherwise it is refused, and so is one about no look."""
    ledger = MemoryLedger()
    look = ledger.begin("h", run_id="run", before="a", after="b")
    ledger.conclude(look, outcome="accepted", reason="one")
    ledger.conclude(look, outcome="accepted", reason="one")
    with pytest.raises(WorkspaceError, match="'accepted'"):
        ledger.conclude(look, outcome="refused", reason="two")
    with pytest.raises(WorkspaceError, match="never begun"):
        MemoryLedger().conclude(look, outcome="accepted", reason="one")
    assert [(r.outcome, r.reason) for r in ledger.looks("h")] == [("accepted", "one")]


def test_a_spent_holdout_asks_for_fresh_labels() -> None:
    """Beyond the last look nothing is entered; the looks already begun can be gone on with."""
    ledger = MemoryLedger(max_looks=3)
    for i in range(3):
        look_and_say(ledger, "h", str(i), "refused")
    with pytest.raises(InputError, match="fresh labels"):
        ledger.begin("h", run_id="run", before="a", after="3")
    assert ledger.begin("h", run_id="run", before="a", after="1").number == 2
    assert len(ledger.looks("h")) == 3
