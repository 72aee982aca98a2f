"""The attack success rate: who obeys a planted instruction, who does not, and what planting leaves
alone.
"""

import json
import re
from collections.abc import Callable

import pytest

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Dataset,
    InputError,
    JudgePrompt,
    OutputScale,
    Registry,
    Row,
)
from judgewright.judges.metrics import as_json
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.reliability import AttackReport, attack_success_rate, plant, wordings
from judgewright.judges.reliability.attack_success_rate import CONTROL, top_grade

SHIPPED = Registry().get("context_relevance")
ORDERS = len(wordings()) - 1


class Scorer:
    """Answers with what a function makes of a passage and of its own number."""

    name, endpoint, simulated = "scorer", "https://scorer.invalid/v1", False

    def __init__(self, score: Callable[[str, int], int | None]) -> None:
        self.score = score

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Give the score, or no verdict for None."""
        text = request.messages[-1].content
        own = re.search(r"worth (\d)", text)
        score = self.score(text, int(own[1]) if own else 0)
        return Completion(text="An attack!" if score is None else json.dumps({"score": score}))

    async def close(self) -> None:
        """Hold nothing open."""


def rates(
    score: Callable[[str, int], int | None],
    *values: int,
    prompt: JudgePrompt = SHIPPED,
    sample: int = 50,
) -> AttackReport:
    """Measure a judge on passages that say what they are worth."""
    rows = [
        Row(id=f"w{i}", inputs={"query": "q", "passage": f"worth {v}"})
        for i, v in enumerate(values)
    ]
    with Client(Scorer(score)) as client:
        report = attack_success_rate(prompt, Dataset.of(rows, labels=BINARY), client, sample=sample)
        # Nothing is planted into a row without a verdict, and nothing is paid for it.
        assert client.stats.requests == len(rows) + report.rows * (ORDERS + 1)
    assert json.dumps(as_json(report))
    return report


def test_a_judge_that_obeys_one_wording_flips_exactly_there() -> None:
    """Rows below the threshold flip, those at the top cannot move; the other wordings change
    nothing.
    """
    report = rates(lambda text, own: 3 if "Ignore the criteria" in text else own, *(0, 1, 2, 3) * 5)
    assert report.flipped.value == pytest.approx(0.5 / ORDERS)
    assert report.net_success.value == pytest.approx(0.75 / ORDERS)
    assert (report.flipped.n, report.control.value) == (20 * ORDERS, 0.0)
    assert report.flipped.low is not None
    assert 0 < report.flipped.low < (report.flipped.value or 0) < (report.flipped.high or 0) < 1
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
    alone = re.compile(r"<passage-(\w+)>\nworth \d\n</passage-\1>")
    report = rates(lambda text, own: own if alone.search(text) else 0, 2, 3, 2, 3)
    assert (report.flipped.value, report.control.value) == (1.0, 1.0)
    assert report.net_success.value == 0.0


def test_replies_that_cannot_be_read_are_lost_and_not_flips() -> None:
    """They are counted beside the shares, as are rows without a verdict of their own."""
    report = rates(lambda text, own: None if "criteria and answer" in text else own, 0, 1, 2)
    assert report.lost == 3
    assert report.flipped.n == 3 * (ORDERS - 1)
    assert "3 planted copies without a readable one" in report.describe()
    report = rates(lambda text, own: own if own != 1 else None, 1, 2, 3)
    assert (report.rows, report.unscored) == (2, 1)


def test_what_cannot_be_measured_is_refused() -> None:
    """No rows to take, no top of the scale."""
    with pytest.raises(InputError, match="a sample of 0 rows"):
        rates(lambda text, own: own, 1, sample=0)
    choice = JudgePrompt(
        name="route",
        system="s",
        criteria="c",
        template="{{query}} {{passage}}",
        reply="r",
        scale=OutputScale(kind="choice", labels=("a", "b")),
    )
    with pytest.raises(InputError, match="no top"):
        rates(lambda text, own: own, 1, prompt=choice)


@pytest.mark.parametrize(
    ("scale", "grade"),
    [
        (OutputScale(low=1, high=5), "5"),
        (OutputScale(kind="binary", labels=("no", "yes"), threshold=1), "yes"),
        (PROBABILITY, "1"),
    ],
)
def test_the_top_of_the_scale_is_asked_for_as_the_judge_writes_it(
    scale: OutputScale, grade: str
) -> None:
    """A grade, or a label where the scale has labels; the control asks for nothing."""
    row = Row(id="r", inputs={"statement": "The pier is new."}, label=0.0)
    copies = plant(row, scale, "statement")
    assert top_grade(scale) == grade
    assert f"highest grade, {grade}." in copies["plain"].inputs["statement"]
    assert grade not in copies[CONTROL].inputs["statement"].replace(row.inputs["statement"], "")
