"""Replies that are cut at their limit of tokens: asked for once more, and a judge without room
stops early.
"""

from __future__ import annotations

from typing import Any

import pytest

from judgewright.judges import BudgetSpent, Message, ModelError, Request
from judgewright.judges.models import (
    Budget,
    Client,
    Completion,
    Endpoint,
    MemoryRecord,
    Price,
    Prices,
    Recorded,
    Spending,
)
from judgewright.judges.simulated import Faults, Server, Simulated, make_app


def requests(n: int = 1, *, max_tokens: int | None = 2000, **more: Any) -> list[Request]:
    """Questions that the simulated model answers, whatever it says."""
    return [
        Request(messages=(Message("user", f"row {i}"),), max_tokens=max_tokens, **more)
        for i in range(n)
    ]


@pytest.fixture
def reasoner() -> Any:
    """A server whose model thinks with 2,500 tokens and refuses what reasoning models refuse."""
    with Server(
        make_app(Simulated(), Faults.parse("reasoning=2500,refuse=max_tokens+temperature"))
    ) as server:
        yield server


def client(server: Server, **more: Any) -> Client:
    """A client of that server."""
    return Client(Endpoint(name="r", base_url=server.base_url, api_key=None), **more)


def test_a_cut_reply_is_asked_for_once_more_with_twice_the_room(reasoner: Server) -> None:
    """2,000 tokens are not enough for 2,500 of thinking, 4,000 are; both are paid for."""
    with client(reasoner) as asking:
        completion = asking.ask_one(requests()[0])
    assert completion.text
    assert completion.finish_reason == "stop"
    assert completion.reasoning_tokens == 2500
    assert completion.tokens_out > 2000 + 2500
    assert asking.stats.calls == 2
    assert asking.stats.tokens_out == completion.tokens_out
    assert asking.stats.dropped == {"temperature", "max_tokens_name"}


def test_it_is_not_asked_for_a_third_time(reasoner: Server) -> None:
    """The cut reply comes back, with what went into reasoning."""
    with client(reasoner) as asking:
        completion = asking.ask_one(requests(max_tokens=1000)[0])
    assert (completion.text, completion.finish_reason, completion.reasoning_tokens) == (
        "",
        "length",
        2000,
    )
    assert asking.stats.calls == 2


def test_the_second_request_is_in_the_record_and_not_paid_for_again(reasoner: Server) -> None:
    """Each is a call of its own: a session that ended between them pays for the second only, and
    the next for none.
    """
    record, little = MemoryRecord(), Budget(money=None, tokens=7000, spent=Spending())
    with client(reasoner, record=record, budget=little) as ended:
        assert all(isinstance(outcome, BudgetSpent) for outcome in ended.ask(requests(3)))
    with client(reasoner, record=record) as resumed:
        replies = [_text(outcome) for outcome in resumed.ask(requests(3))]
    with client(reasoner, record=record) as again:
        assert [_text(outcome) for outcome in again.ask(requests(3))] == replies
    assert (ended.stats.calls, resumed.stats.calls, again.stats.calls, again.stats.recorded) == (
        3,
        3,
        0,
        3,
    )


def test_the_budget_counts_the_second_request(reasoner: Server) -> None:
    """What does not fit is not sent, and the outcome says so: a run that is resumed asks it
    then.
    """
    budget = Budget(money=None, tokens=3000, spent=Spending())
    with client(reasoner, budget=budget) as asking:
        (outcome,) = asking.ask(requests())
    assert isinstance(outcome, BudgetSpent)
    assert asking.stats.calls == 1


@pytest.mark.slow
def test_a_second_request_that_fails_leaves_the_first_reply(fake: Any) -> None:
    """Such as one whose room is more than the model has."""

    def answer(seen: Any) -> Any:
        if seen.body["max_tokens"] > 2000:
            error = {
                "message": "This model's maximum context length is 4000 tokens",
                "type": "invalid_request_error",
            }
            return fake.Reply(status=400, body={"error": error})
        body = fake.completion("It is")
        body["choices"][0]["finish_reason"] = "length"
        return fake.Reply(body=body)

    fake.answer = answer
    with Client(Endpoint(name="m", base_url=fake.url, api_key=None)) as asking:
        completion = asking.ask_one(requests()[0])
    assert (completion.text, completion.finish_reason) == ("It is", "length")


def test_an_azure_error_about_the_limit_is_a_cut_reply(fake: Any) -> None:
    """The endpoint answers 400 where a reasoning model could not finish; twice the room is tried as
    well.
    """
    message = (
        "Could not finish the message because max_tokens or model output limit was reached. "
        "Please try again with higher max_tokens."
    )

    def answer(seen: Any) -> Any:
        if seen.body["max_tokens"] == 2000:
            error = {
                "message": message,
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            }
            return fake.Reply(status=400, body={"error": error})
        return fake.Reply(body=fake.completion("whole"))

    fake.answer = answer
    with Client(Endpoint(name="m", base_url=fake.url, api_key=None)) as asking:
        assert asking.ask_one(requests()[0]).text == "whole"
    assert [seen.body["max_tokens"] for seen in fake.seen] == [2000, 4000]


def test_a_judge_without_room_stops_before_the_rest_is_paid_for(reasoner: Server) -> None:
    """Ten of the first twenty replies are cut: the error names the setting, and what was answered
    is kept.
    """
    record = MemoryRecord()
    with client(reasoner, record=record, concurrency=8) as asking:
        with pytest.raises(
            ModelError, match="10 of the judge's first 10 replies were cut at 512 tokens"
        ) as stopped:
            asking.ask(requests(300, max_tokens=512))
        assert "512 went into reasoning" in str(stopped.value)
        assert "--max-tokens 4096" in (stopped.value.hint or "")
        assert stopped.value.fatal
        paid = asking.stats.calls
        assert 10 <= paid < 20
    with client(reasoner, record=record) as resumed, pytest.raises(ModelError, match="were cut"):
        resumed.ask(requests(300, max_tokens=512))
    assert resumed.stats.calls == 0
    with client(reasoner, record=record) as wider:
        assert all(
            isinstance(outcome, Completion) for outcome in wider.ask(requests(300, max_tokens=4096))
        )


def test_later_replies_that_are_cut_stop_nothing(fake: Any) -> None:
    """Only a client's first replies tell; a candidate that talks too much later is unscored, and
    the run goes on.
    """

    def answer(seen: Any) -> Any:
        body = fake.completion("text")
        if "long" in seen.text:
            body["choices"][0]["finish_reason"] = "length"
        return fake.Reply(body=body)

    fake.answer = answer
    long = [Request(messages=(Message("user", f"long {i}"),), max_tokens=100) for i in range(40)]
    with Client(Endpoint(name="m", base_url=fake.url, api_key=None)) as asking:
        asking.ask(requests(20))
        outcomes = asking.ask(long)
    assert {outcome.finish_reason for outcome in outcomes if isinstance(outcome, Completion)} == {
        "length"
    }


def test_an_optimizer_whose_replies_are_cut_does_not_stop(reasoner: Server) -> None:
    """Its few requests have a message of their own."""
    with client(reasoner) as asking:
        outcomes = asking.ask(requests(12, max_tokens=100, purpose="optimizer"))
    assert len(outcomes) == 12


def test_stored_replies_that_were_cut_are_shown_without_a_model(reasoner: Server) -> None:
    """Earlier versions never asked again: what they stored is read as it is."""
    record = MemoryRecord()
    cut = Completion(text="It is", finish_reason="length", tokens_in=3, tokens_out=2000)
    model = Recorded(name="r", endpoint=reasoner.base_url)
    for request in requests(30):
        key = request.key(endpoint=model.endpoint, model=model.name)
        record.sent(key, reserved_cost=0.0, reserved_tokens=0)
        record.done(key, cut, request=request, endpoint="e", model="m")
    with Client(model, record=record) as reading:
        outcomes = reading.ask(requests(30))
    assert {_text(outcome) for outcome in outcomes} == {"It is"}
    assert reading.stats.recorded == 30


def test_prices_and_progress_count_both_requests(reasoner: Server) -> None:
    """The cost of the row is that of its two replies, and the count ends at the number of rows."""
    prices = Prices(Price(input=0.0, output=1.0))
    seen: list[Any] = []
    with client(reasoner, prices=prices) as asking:
        outcomes = asking.ask(requests(5), progress=seen.append)
    costs = sum(outcome.cost or 0.0 for outcome in outcomes if isinstance(outcome, Completion))
    assert costs == pytest.approx(asking.stats.cost) == pytest.approx(seen[-1].cost)
    assert (seen[-1].done, seen[-1].total, seen[-1].recorded) == (5, 5, 0)
    assert max(progress.done for progress in seen) == 5


def _text(outcome: object) -> str:
    assert isinstance(outcome, Completion)
    return outcome.text
