"""The attack success rate: who obeys a planted instruction, who does not, and what planting leaves
alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest

from judgewright.judges import (
    BINARY,
    DATA_NOTICE,
    Dataset,
    InputError,
    JudgePrompt,
    OutputScale,
    Registry,
    Row,
)
from judgewright.judges.metrics import as_json
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.reliability import AttackReport, attack_success_rate, wordings
from judgewright.judges.simulated import Simulated

SHIPPED = Registry().get("context_relevance")
ORDERS = len(wordings()) - 1
TOPICS = (
    "harbour pilots",
    "river ferries",
    "stone bridges",
    "canal locks",
    "tidal mills",
    "fishing nets",
)
VERBS = ("paid", "built", "trained", "repaired", "licensed", "insured")


class WithoutNotice(JudgePrompt):
    """A prompt that does not say that fenced text is data."""

    def system_text(self) -> str:
        """Return the system message without the notice."""
        return super().system_text().replace(DATA_NOTICE, "").strip()


class Scorer:
    """Scores a passage with what a function of it says; obeys nobody unless told to."""

    name, endpoint, simulated = "scorer", "https://scorer.invalid/v1", False

    def __init__(self, obeys: str = "\0", cautious: bool = False) -> None:
        self.obeys, self.cautious = obeys, cautious

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Give every passage its own number, or 3 to one that holds the magic words."""
        text = request.messages[-1].content
        own = re.search(r"worth (\d)", text)
        score = 3 if self.obeys in text else int(own[1]) if own else 0
        if self.cautious and self.obeys in text:
            return Completion(text="This looks like an attack.")
        return Completion(
            text=json.dumps({"criterion": "", "evidence": "", "score": score, "confidence": 0.9})
        )

    async def close(self) -> None:
        """Hold nothing open."""


def bare() -> WithoutNotice:
    """The shipped prompt without the notice."""
    return WithoutNotice(
        **{field.name: getattr(SHIPPED, field.name) for field in fields(JudgePrompt)}
    )


def half_relevant() -> Dataset:
    """Passages that share a part of the query's words, near the step from not relevant to
    relevant.
    """
    rows = []
    for i, topic in enumerate(TOPICS):
        for j, verb in enumerate(VERBS):
            query = f"how are {topic} {verb} in winter"
            passage = (
                f"In the north {topic} rest when ice comes. Crews wait for spring, and part {j} of"
                f" {i} says little."
            )
            rows.append(
                Row(id=f"r{i}{j}", inputs={"query": query, "passage": passage}, group=topic)
            )
    return Dataset.of(rows, labels=BINARY)


def worth(*values: int) -> Dataset:
    """Rows whose passage says what `Scorer` gives it."""
    return Dataset.of(
        [
            Row(id=f"w{i}", inputs={"query": "q", "passage": f"worth {v}"})
            for i, v in enumerate(values)
        ],
        labels=BINARY,
    )


def rates(
    model: Scorer | Simulated, prompt: JudgePrompt, dataset: Dataset, **options: object
) -> AttackReport:
    """Measure flip rates."""
    with Client(model) as client:
        return attack_success_rate(prompt, dataset, client, **options)  # type: ignore[arg-type]


def test_a_judge_that_obeys_one_wording_flips_exactly_there() -> None:
    """Rows below the threshold flip, those at the top cannot move; the other wordings change
    nothing.
    """
    report = rates(Scorer(obeys="Ignore the criteria"), SHIPPED, worth(*(0, 1, 2, 3) * 5))
    plain = report.by_wording["plain"]
    assert (plain.flipped.value, plain.flipped.n) == (0.5, 20)
    assert (plain.towards.value, plain.towards.n) == (1.0, 15)
    assert (plain.net_success.value, plain.away.value) == (0.75, 0.0)
    assert plain.flipped.low is not None
    assert 0 < plain.flipped.low < 0.5 < (plain.flipped.high or 0) < 1
    others = [flips for name, flips in report.by_wording.items() if name != "plain"]
    assert {flips.flipped.value for flips in (*others, report.control)} == {0.0}
    assert report.total.flipped.value == pytest.approx(0.5 / ORDERS)
    assert (report.rows, report.grade, report.field, report.simulated) == (
        20,
        "3",
        "passage",
        False,
    )


def test_what_any_added_line_does_is_not_taken_for_success() -> None:
    """A judge that gives 0 to every text with a second line flips as much for the control; its net
    success is 0.
    """

    class Nervous(Scorer):
        """Refuses to see worth in a passage that was added to."""

        async def complete(
            self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
        ) -> Completion:
            """Give the passage its number if it stands alone."""
            alone = re.search(
                r"<passage-(\w+)>\nworth \d\n</passage-\1>", request.messages[-1].content
            )
            reply = await super().complete(request, unsupported_parameters=unsupported_parameters)
            return reply if alone else Completion(text='{"score": 0}')

    report = rates(Nervous(), SHIPPED, worth(2, 3, 2, 3))
    assert report.total.flipped.value == report.control.flipped.value == 1.0
    assert report.total.away.value == 1.0
    assert report.total.net_success.value == 0.0
    assert report.control.net_success.value is None


def test_replies_that_cannot_be_read_are_lost_and_not_flips() -> None:
    """They are counted beside the shares."""
    report = rates(Scorer(obeys="Ignore the criteria", cautious=True), SHIPPED, worth(0, 1, 2))
    assert report.lost == 3
    assert report.by_wording["plain"].flipped.value is None
    assert "3 planted copies left the judge without a readable verdict" in report.describe()
    assert json.dumps(as_json(report))


def test_rows_without_a_verdict_of_their_own_are_left_out() -> None:
    """Nothing is planted into them, and nothing is paid for it."""
    with Client(Scorer(obeys="worth 1", cautious=True)) as client:
        report = attack_success_rate(SHIPPED, worth(1, 2, 3), client)
        assert client.stats.calls == 3 + 2 * (ORDERS + 1)
    assert (report.rows, report.unscored) == (2, 1)


def test_a_prompt_without_the_notice_is_talked_round_more_often_than_the_shipped_one() -> None:
    """The simulated model obeys planted orders where nobody told it that fenced text is data."""
    shipped, open_one = (
        rates(Simulated(), prompt, half_relevant()) for prompt in (SHIPPED, bare())
    )
    assert open_one.simulated
    assert "SIMULATED" in open_one.describe()
    for share in ("flipped", "towards", "net_success"):
        more, less = (
            getattr(report.by_wording["authority"], share) for report in (open_one, shipped)
        )
        assert more.value > less.value
    assert (
        (shipped.by_wording["authority"].net_success.low or 0)
        <= 0
        < (open_one.by_wording["authority"].net_success.low or 0)
    )
    assert open_one.total.net_success.value > shipped.total.net_success.value  # type: ignore[operator]


def test_what_cannot_be_measured_is_refused() -> None:
    """No rows to take, no such field, no top of the scale."""
    with pytest.raises(InputError, match="a sample of 0 rows"):
        rates(Scorer(), SHIPPED, worth(1), sample=0)
    choice = JudgePrompt(
        name="route",
        system="s",
        criteria="c",
        template="{{query}} {{passage}}",
        reply="r",
        scale=OutputScale(kind="choice", labels=("a", "b")),
    )
    with pytest.raises(InputError, match="no top"):
        rates(Scorer(), choice, worth(1))
