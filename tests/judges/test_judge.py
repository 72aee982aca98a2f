"""Judging under a decision rule: what is decided anew, from what, and what stays."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Answer,
    Calibration,
    Dataset,
    DecisionRule,
    InputError,
    Isotonic,
    JudgedDataset,
    OutputScale,
    Platt,
    Registry,
    Row,
    Unscored,
    Verdict,
    apply_rule,
    calibration_from_json,
    judge,
)
from judgewright.judges.models import Client
from judgewright.judges.simulated import Simulated

GRADED = OutputScale()
HALVED = Isotonic(x=(0.0, 1.0), y=(0.0, 0.5))
IDENTITY = Platt(slope=1.0, intercept=0.0)
SHARES = st.floats(0.0, 1.0)
CALIBRATIONS: st.SearchStrategy[Calibration | None] = st.one_of(
    st.none(),
    st.builds(Platt, slope=st.floats(0, 20), intercept=st.floats(-20, 20)),
    st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=8, unique_by=lambda knot: knot[0]).map(
        lambda knots: Isotonic(
            x=tuple(sorted(x for x, _ in knots)), y=tuple(sorted(y for _, y in knots))
        )
    ),
)
RULES = st.builds(DecisionRule, threshold=st.floats(-1, 4), calibration=CALIBRATIONS)
STATED = st.one_of(st.none(), SHARES)


def verdict(score: float, confidence: float | None = None, scale: OutputScale = GRADED) -> Verdict:
    """A verdict as the judge gave it."""
    return Verdict(
        row_id="r",
        score=score,
        positive=scale.positive(score),
        confidence=confidence,
        rationale="why",
    )


def decided(answer: Answer) -> tuple[bool, float | None, float | None]:
    """Decision, confidence in it, and probability of the positive label."""
    assert isinstance(answer, Verdict)
    return answer.positive, answer.confidence, answer.probability


def test_a_plain_rule_has_the_hash_it_always_had() -> None:
    """Decisions recorded under a threshold alone keep naming the same rule."""
    old = hashlib.blake2b(b'{"threshold":2.0}', digest_size=6).hexdigest()
    assert DecisionRule(threshold=2.0).version == old
    others = {DecisionRule(threshold=2.0, calibration=c).version for c in (None, HALVED, IDENTITY)}
    assert len(others) == 3


def test_worked_by_hand() -> None:
    """A grade of 1 given with .9 is a no at 2; at 1 it is a yes with the judge's .1, calibrated to
    .05.
    """
    given_ = verdict(1, 0.9)
    assert decided(apply_rule(given_, GRADED, DecisionRule(threshold=1))) == (
        True,
        pytest.approx(0.1),
        pytest.approx(0.1),
    )
    calibrated = apply_rule(given_, GRADED, DecisionRule(threshold=1, calibration=HALVED))
    assert decided(calibrated) == (True, pytest.approx(0.05), pytest.approx(0.05))
    stays = apply_rule(given_, GRADED, DecisionRule(threshold=2, calibration=HALVED))
    assert decided(stays) == (False, pytest.approx(0.95), pytest.approx(0.05))
    assert apply_rule(verdict(1), GRADED, DecisionRule(threshold=1, calibration=HALVED)) == Verdict(
        row_id="r", score=1, positive=True, rationale="why", before=verdict(1)
    )


def test_on_a_probability_scale_the_calibrated_score_decides() -> None:
    """.8 halved is .4: a no at .5 with confidence .6, and the raw score is kept."""
    answer = apply_rule(
        verdict(0.8, None, PROBABILITY),
        PROBABILITY,
        DecisionRule(threshold=0.5, calibration=HALVED),
    )
    assert decided(answer) == (False, pytest.approx(0.6), pytest.approx(0.4))
    assert isinstance(answer, Verdict)
    assert answer.score == 0.8


@given(score=st.integers(0, 3), confidence=STATED, first=RULES, second=RULES)
def test_only_the_last_rule_counts(
    score: float, confidence: float | None, first: DecisionRule, second: DecisionRule
) -> None:
    """A rule looks at what the judge gave, never at what another rule made of it; the score and
    reasons stay.
    """
    given_ = verdict(score, confidence)
    once = apply_rule(given_, GRADED, second)
    assert apply_rule(apply_rule(given_, GRADED, first), GRADED, second) == once
    assert (
        apply_rule(
            apply_rule(given_, GRADED, first), GRADED, DecisionRule(threshold=GRADED.threshold)
        )
        == given_
    )
    assert isinstance(once, Verdict)
    assert (once.score, once.rationale, once.positive) == (score, "why", score >= second.threshold)
    assert (once.confidence is None) == (confidence is None)
    assert once.confidence is None or 0 <= once.confidence <= 1


@given(calibration=CALIBRATIONS, low=SHARES, high=SHARES)
def test_a_calibration_never_turns_an_order_round(
    calibration: Calibration | None, low: float, high: float
) -> None:
    """What the judge holds more likely stays at least as likely, and everything stays in [0, 1]."""
    if calibration is None:
        return
    low, high = sorted((low, high))
    assert 0 <= calibration(low) <= calibration(high) + 1e-12 <= 1 + 1e-12


@given(RULES)
def test_a_rule_survives_json(rule: DecisionRule) -> None:
    """Written and read again, it is the same rule under the same hash."""
    again = DecisionRule.from_json(rule.to_json())
    assert again == rule
    assert again.version == rule.version


@pytest.mark.parametrize(
    "body",
    [
        {"method": "isotonic", "x": [0.5, 0.5], "y": [0, 1]},
        {"method": "isotonic", "x": [0, 1], "y": [1, 0]},
        {"method": "isotonic", "x": [0, 1], "y": [0, 1.5]},
        {"method": "isotonic", "x": [], "y": []},
        {"method": "isotonic", "x": [0]},
        {"method": "platt", "slope": -1, "intercept": 0},
        {"method": "platt", "slope": "nan", "intercept": 0},
        {"method": "beta"},
        {},
    ],
)
def test_a_map_that_falls_or_leaves_the_range_is_refused(body: dict[str, object]) -> None:
    """Whatever a file says, a calibration rises within [0, 1]."""
    with pytest.raises(InputError):
        calibration_from_json(body)


def table(lines: Sequence[tuple[float, float | None]], scale: OutputScale) -> JudgedDataset:
    """Rows labelled 1, with a score and a confidence each, and one that is unscored."""
    rows = [Row(id=f"r{i}", inputs={}, label=1.0) for i in range(len(lines) + 1)]
    answers: list[Answer] = [
        Verdict(row_id=f"r{i}", score=s, positive=scale.positive(s), confidence=c)
        for i, (s, c) in enumerate(lines)
    ]
    answers.append(Unscored(row_id=f"r{len(lines)}", reason="parse"))
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY), answers=tuple(answers), scale=scale
    )


def test_a_table_is_decided_anew_as_a_whole() -> None:
    """Decisions, probabilities and the threshold follow the rule; scores and unscored rows do not
    move.
    """
    judged = table([(3, 0.9), (1, 0.8), (2, None)], GRADED)
    rule = DecisionRule(threshold=3, calibration=HALVED)
    under = judged.under(rule)
    assert under.predicted.tolist() == [True, False, False]
    np.testing.assert_allclose(under.probability, [0.45, 0.1, np.nan])
    np.testing.assert_allclose(under.confidence, [0.45, 0.9, np.nan])
    assert (under.rule, under.scale.threshold, under.unscored) == (rule, 3, {"parse": 1})
    np.testing.assert_array_equal(under.score, judged.score)
    assert under.under(DecisionRule(threshold=2)).answers == judged.answers


def test_the_probability_of_a_probability_is_itself_until_it_is_calibrated() -> None:
    """A confidence stated beside a probability is about something else and does not replace it."""
    judged = table([(0.8, 0.3), (0.2, None)], PROBABILITY)
    np.testing.assert_allclose(judged.probability, [0.8, 0.2])
    np.testing.assert_allclose(judged.under(DecisionRule(threshold=0.9)).probability, [0.8, 0.2])
    np.testing.assert_allclose(
        judged.under(DecisionRule(threshold=0.5, calibration=HALVED)).probability, [0.4, 0.1]
    )


def test_a_judge_asked_under_a_rule_is_the_judge_and_then_the_rule() -> None:
    """Asking costs the same calls, and the rule decides on the replies."""
    prompt = Registry().get("groundedness")
    rows = [
        Row(
            id=f"r{i}", inputs={"source": "The pier closes at eight.", "statement": text}, label=1.0
        )
        for i, text in enumerate(
            ("The pier closes at eight.", "The pier closes at nine.", "Bees like clover.")
        )
    ]
    dataset = Dataset.of(rows, labels=BINARY)
    rule = DecisionRule(threshold=3, calibration=HALVED)
    with Client(Simulated()) as client:
        plain = judge(prompt, dataset, client)
        ruled = judge(prompt, dataset, client, rule=rule)
        own = judge(prompt, dataset, client, rule=prompt.rule)
        assert client.stats.calls == 3
    assert ruled == plain.under(rule)
    assert plain.rule is None
    assert own.answers == plain.answers


def test_what_is_frozen_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting goes through every frozen object: a twentieth of a second a request once TextGrad
    and DSPy are there.
    """
    counted: list[int] = []
    count = gc.get_freeze_count

    def noted() -> int:
        counted.append(count())
        return counted[-1]

    monkeypatch.setattr(gc, "get_freeze_count", noted)
    rows = Dataset.of(
        [Row(id="a", inputs={"source": "The bridge is open.", "statement": "It is."})],
        labels=GRADED,
    )
    with Client(Simulated()) as client:
        judge(Registry().get("groundedness"), rows, client)
    assert counted == [0]
    assert count() == 0
