"""How far a decision model's verdicts hang on order and names of options, with biases planted."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from judgewright.judges import (
    Client,
    Completion,
    Dataset,
    InputError,
    JudgeSettings,
    OutputScale,
    Registry,
    Request,
    Row,
)
from judgewright.judges.asked_question import AskedQuestion
from judgewright.judges.models import ModelSettings
from judgewright.judges.models.question import Question, State
from judgewright.judges.reliability import order_sensitivity
from judgewright.judges.reliability.order_sensitivity import variants
from judgewright.judges.simulated import Simulated

from ...planted_decisions import PlantedModel, planted_client

GRADED = Registry().get("groundedness")
YES_NO = replace(
    GRADED,
    scale=OutputScale(kind="binary", threshold=1.0, anchors={"0": "not held", "1": "held"}),
    reply="",
    reply_schema={},
)
CHOICE = replace(YES_NO, scale=OutputScale(kind="choice", labels=("held", "absent", "unclear")))
SETTINGS = JudgeSettings()
BIAS = 0.1
SEEDS = 20


def drawn_rows(n: int, seed: int) -> Dataset:
    """Return rows, two a group."""
    rows = (
        Row(id=f"r{i}", inputs={"source": f"{seed}/{i}", "statement": "so"}, group=f"g{i // 2}")
        for i in range(n)
    )
    return Dataset.of(rows, labels=GRADED.scale)


def answering(first: float):
    """Return a model that knows options by what they mean, and takes to the first one for a share
    that is drawn for each row, of this mean.
    """

    def shares(question: Question, state: State) -> list[float]:
        rng = np.random.default_rng(list(hashlib.blake2b(repr(state).encode()).digest()))
        known = sorted(option.meaning or option.name for option in question.options)
        fair = dict(zip(known, rng.dirichlet([1.0] * len(known)), strict=True))
        extra = rng.uniform(0.0, 2.0 * first)
        given = [(1 - extra) * fair[one.meaning or one.name] for one in question.options]
        given[0] += extra
        return given

    return shares


@pytest.mark.parametrize("prompt", [GRADED, YES_NO, CHOICE], ids=["graded", "yes/no", "choice"])
def test_a_model_that_knows_what_options_mean_moves_no_verdict(prompt) -> None:
    """Probabilities come back to the options that they are of, whatever the order and the names."""
    with planted_client(answering(0.0)) as client:
        report = order_sensitivity(prompt, drawn_rows(40, 0), client, settings=SETTINGS)
    for name, figures in report.changes.items():
        assert figures["decided otherwise"].value == 0, name
        assert figures["moved"].value == pytest.approx(0.0, abs=1e-12), name
    expected = {
        "graded": {"reversed"},
        "yes/no": {"reversed", "named by letters"},
        "choice": {"shifted by 1", "shifted by 2", "named by letters"},
    }
    assert set(report.changes) in expected.values()


def test_names_of_levels_are_changed_where_they_are_sent() -> None:
    """OpenAI's interface has labels of levels; the others have places in a list."""
    named = {
        api: "named by letters" in variants(AskedQuestion(prompt=GRADED, api=api))
        for api in ("decisions", "systemone", "sglang")
    }
    assert named == {"decisions": True, "systemone": False, "sglang": False}


@pytest.mark.parametrize("prompt", [GRADED, YES_NO], ids=["graded", "yes/no"])
def test_a_planted_order_bias_is_sized_within_its_interval(prompt) -> None:
    """The first option gets a tenth more; over 20 seeds the interval holds that in about 95 %."""
    held = 0
    for seed in range(SEEDS):
        with planted_client(answering(BIAS)) as client:
            figures = order_sensitivity(
                prompt, drawn_rows(120, seed), client, settings=SETTINGS
            ).changes["reversed"]
        shift = figures["shift"]
        assert shift.low is not None
        assert shift.high is not None
        assert shift.low > 0, "it is found"
        held += shift.low <= BIAS <= shift.high
    assert held >= SEEDS - 3


def test_no_interval_of_a_share_goes_below_nothing() -> None:
    """Where no verdict moved, the shift is as far up as down, and a share is from nothing on."""
    with planted_client(answering(0.0)) as client:
        figures = order_sensitivity(GRADED, drawn_rows(4, 0), client, settings=SETTINGS).changes
    for name in ("decided otherwise", "moved"):
        assert figures["reversed"][name].low == pytest.approx(0.0, abs=1e-9), name
    assert figures["reversed"]["shift"].low == -(figures["reversed"]["shift"].high or 0.0)


def test_a_chat_model_is_refused() -> None:
    """Its question has no options."""
    with Client(Simulated()) as client, pytest.raises(InputError, match="is a chat model"):
        order_sensitivity(GRADED, drawn_rows(2, 0), client, settings=SETTINGS)


def test_rows_that_bench_would_not_send_are_not_asked_about() -> None:
    """The limit of characters is the one of the other verdicts."""
    rows = drawn_rows(8, 0)
    size = max(sum(map(len, row.inputs.values())) for row in rows.rows)
    long = replace(rows.rows[0], inputs=dict.fromkeys(rows.rows[0].inputs, "x" * (size + 1)))
    rows = replace(rows, rows=(long, *rows.rows[1:]))
    with planted_client(answering(0.0)) as client:
        limited = JudgeSettings(max_chars=size)
        assert order_sensitivity(GRADED, rows, client, settings=limited).rows == 7


class Signed(PlantedModel):
    """The simulated model behind a name of its own, which signs what it answers."""

    async def complete(self, request: Request, **more: frozenset[str]) -> Completion:
        """See `Model.complete`."""
        return replace(await super().complete(request, **more), fingerprint="simulated-1")


def test_the_simulated_model_is_known_under_another_name() -> None:
    """By its signature, as in every other figure."""
    with Client(Signed(answering(0.0)), settings=ModelSettings(api="systemone")) as client:
        report = order_sensitivity(GRADED, drawn_rows(4, 0), client, settings=SETTINGS)
    assert report.describe().startswith("SIMULATED")
