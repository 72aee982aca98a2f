"""Reserve, then settle."""

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BudgetSpent, InputError
from judgewright.judges.models import Budget, Completion, Forecast, Spending


def test_a_reservation_that_may_fit_later_waits(ask_for):
    """0.6 of 1.00 is held: another 0.6 waits, and fits once the first was settled for less."""
    budget = Budget(money=1.0, tokens=None, spent=Spending())
    first = budget.reserve(cost=0.6, tokens=10, model="m")
    assert first is not None
    assert budget.reserve(cost=0.6, tokens=10, model="m") is None
    budget.settle(first, cost=0.1, tokens=5)
    assert budget.reserve(cost=0.6, tokens=10, model="m") is not None
    assert (budget.cost, budget.used) == (pytest.approx(0.1), 5)


def test_a_reservation_that_cannot_fit_says_what_is_spent():
    """With 0.9 of 1.00 settled, a call that may cost 0.2 is refused at once."""
    budget = Budget(money=1.0, tokens=None, spent=Spending(settled_cost=0.9))
    with pytest.raises(
        BudgetSpent, match=r"\$1\.00: \$0\.9000 is spent and the next call may cost \$0\.2000"
    ):
        budget.reserve(cost=0.2, tokens=1, model="m")


def test_attempts_in_doubt_of_earlier_sittings_count_as_spent():
    """Tokens that may have been charged leave less for this sitting."""
    spent = Spending(settled_tokens=400, in_doubt_tokens=500, settled_cost=1.0, in_doubt_cost=2.0)
    budget = Budget(money=None, tokens=1000, spent=spent)
    assert (budget.used, budget.cost) == (900, 3.0)
    with pytest.raises(
        BudgetSpent, match="1,000 tokens: 900 are used and the next call may use 101"
    ):
        budget.reserve(cost=None, tokens=101, model="m")
    assert budget.reserve(cost=None, tokens=100, model="m") is not None


def test_doubt_counts_in_full_and_release_not_at_all():
    """A time-out may have been charged, a 429 was not."""
    budget = Budget(money=1.0, tokens=None, spent=Spending())
    for close, left in ((budget.release, 0.0), (budget.doubt, 0.25)):
        reservation = budget.reserve(cost=0.25, tokens=7, model="m")
        assert reservation is not None
        close(reservation)
        close(reservation)  # closing twice changes nothing
        assert budget.cost == left


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_a_budget_that_is_no_amount_is_refused(amount):
    """Negative and non-finite amounts are input errors."""
    with pytest.raises(InputError, match="is not an amount"):
        Budget(money=amount, tokens=None, spent=Spending())


@settings(max_examples=50, deadline=None)
@given(
    calls=st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 1)), max_size=80),
    seed=st.integers(0, 1000),
)
def test_what_is_spent_and_held_never_exceeds_the_budget(calls, seed):
    """In any order of reserving and settling for no more than was reserved, a dollar stays a
    dollar.
    """
    rng = random.Random(seed)
    budget = Budget(money=1.0, tokens=None, spent=Spending())
    held = []
    for worst, share in calls:
        try:
            if (reservation := budget.reserve(cost=worst, tokens=1, model="m")) is not None:
                held.append((reservation, worst * share))
        except BudgetSpent:
            pass
        assert budget.cost + sum(r.cost or 0.0 for r, _ in held) <= 1.0 + 1e-6
        if held and rng.random() < 0.5:
            reservation, cost = held.pop(rng.randrange(len(held)))
            budget.settle(reservation, cost=cost, tokens=1)


def test_threads_share_one_budget():
    """Eight threads that take what they can take exactly the budget."""
    budget = Budget(money=None, tokens=1000, spent=Spending())
    taken: list[int] = []

    def take() -> None:
        while True:
            try:
                reservation = budget.reserve(cost=None, tokens=1, model="m")
            except BudgetSpent:
                return
            if reservation is not None:
                budget.settle(reservation, cost=None, tokens=1)
                taken.append(1)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == budget.used == 1000


def test_the_forecast_learns_from_calls_that_used_more(ask_for):
    """A model that needs thrice the tokens foreseen, and writes past its limit, is foreseen next
    time.
    """
    forecast = Forecast()
    asked = ask_for("x" * 300, max_tokens=50)
    tokens_in, tokens_out = forecast.before(asked)
    assert tokens_in >= 100
    assert tokens_out == 50
    forecast.learn(asked, Completion(text="", tokens_in=3 * tokens_in, tokens_out=640))
    assert forecast.before(asked) == (3 * tokens_in, 640)


def test_a_reply_without_a_limit_is_reserved_generously(ask_for):
    """Until a longer one was seen, a thousand tokens or more."""
    forecast = Forecast()
    assert forecast.before(ask_for())[1] >= 1000
    forecast.learn(ask_for(), Completion(text="", tokens_in=1, tokens_out=9000))
    assert forecast.before(ask_for())[1] == 9000
