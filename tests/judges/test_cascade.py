"""What a cascade in a judge means for its version, its file and its verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Client,
    Dataset,
    DecisionRule,
    InputError,
    JudgePrompt,
    PromptError,
    Registry,
    Row,
    Simulated,
    Unscored,
    Verdict,
    apply_rule,
    judge,
    load_prompt,
)
from judgewright.judges.cascade import Cascade

JUDGE = Registry().get("groundedness")
shares = st.floats(0, 1)


def with_band(low: float, high: float, share: float = 1.0) -> JudgePrompt:
    """Return the shipped judge with a cascade."""
    return replace(JUDGE, cascade=Cascade(model="slow", low=low, high=high, share=share))


@given(shares, shares, shares)
def test_a_cascade_comes_back_from_yaml_under_its_version(
    one: float, other: float, share: float
) -> None:
    """To the last digit; the share is kept and is not part of the version."""
    low, high = sorted((one, other))
    prompt = with_band(low, high, share)
    read = load_prompt(prompt.to_yaml())
    assert (read.cascade, read.version) == (prompt.cascade, prompt.version)
    assert prompt.version == with_band(low, high).version != JUDGE.version


def test_the_band_and_the_model_are_part_of_the_version() -> None:
    """As they change what is decided."""
    first = with_band(0.2, 0.8)
    assert first.cascade is not None
    other = replace(first, cascade=replace(first.cascade, model="slower"))
    assert len({first.version, with_band(0.2, 0.7).version, other.version}) == 3


@pytest.mark.parametrize(
    ("cascade", "words"),
    [
        ({"model": "slow@https://evil.example/v1", "low": 0, "high": 1}, "not the name of a model"),
        ({"model": "https://evil.example/v1", "low": 0, "high": 1}, "not the name of a model"),
        ({"model": "", "low": 0, "high": 1}, "not the name of a model"),
        ({"model": "slow", "low": 0.8, "high": 0.2}, "no band"),
        ({"model": "slow", "low": "nan", "high": 1}, "no band"),
        ({"model": "slow", "low": 0, "high": 1, "share": 3}, "share"),
        ({"model": "slow", "low": 0, "high": 1, "key": "x"}, "key"),
        ({"model": "slow", "low": 0}, "high"),
    ],
)
def test_a_cascade_that_says_no_band_or_an_address_is_refused(
    cascade: dict[str, object], words: str
) -> None:
    """With the field and the value."""
    fields = "".join(f"  {name}: '{value}'\n" for name, value in cascade.items())
    with pytest.raises(PromptError, match=words):
        load_prompt(f"{JUDGE.to_yaml(lineage=False)}cascade:\n{fields}")


def test_a_choice_has_no_cascade() -> None:
    """None of its probabilities says that a row is good."""
    scale = replace(JUDGE.scale, kind="choice", labels=("a", "b"), anchors={})
    with pytest.raises(PromptError, match="a choice has no cascade"):
        replace(with_band(0, 1), scale=scale)


@given(shares, st.booleans(), shares)
def test_no_rule_decides_anew_what_the_slow_model_decided(
    threshold: float, positive: bool, confidence: float
) -> None:
    """And at every threshold between 0 and 1 its score says the same."""
    score = float(positive)
    given_ = Verdict(
        row_id="r", score=score, positive=positive, confidence=confidence, model="slow"
    )
    answer = replace(given_, before=given_)
    assert apply_rule(answer, PROBABILITY, DecisionRule(threshold=threshold)) == answer


@given(shares, shares, shares)
def test_the_band_holds_both_its_ends(one: float, p: float, other: float) -> None:
    """A row without a probability is asked about; one that the fast model failed on is not."""
    low, high = sorted((one, other))
    cascade = Cascade(model="slow", low=low, high=high)
    verdict = Verdict(row_id="r", score=p, positive=True, confidence=1.0)
    assert cascade.asks(verdict, PROBABILITY) == (low <= p <= high)
    assert cascade.asks(replace(verdict, confidence=None), JUDGE.scale)
    assert not cascade.asks(Unscored(row_id="r", reason="refused"), PROBABILITY)


def rows_of(n: int) -> Dataset:
    """Rows that the simulated model grades."""
    rows = [
        Row(id=f"r{i}", inputs={"source": f"It is {i}.", "statement": f"It is {i % 3}."}, label=1.0)
        for i in range(n)
    ]
    return Dataset.of(tuple(rows), labels=BINARY)


def test_two_chat_models_of_one_scale_keep_their_grades_and_the_order_of_rows() -> None:
    """The fast one's probability follows from the confidence that it states."""
    dataset, prompt = rows_of(40), with_band(0.03, 0.9)
    with Client(Simulated(), opener=lambda _: Client(Simulated())) as client:
        both = judge(prompt, dataset, client)
        fast, slow = judge(JUDGE, dataset, client), judge(JUDGE, dataset, client.second("slow"))
    asked = 0
    for one, other, answer in zip(fast.answers, slow.answers, both.answers, strict=True):
        assert isinstance(one, Verdict)
        in_band = one.probability is None or 0.03 <= one.probability <= 0.9
        asked += in_band
        expected = other if in_band else one
        assert isinstance(answer, Verdict)
        assert isinstance(expected, Verdict)
        assert (answer.score, answer.positive) == (expected.score, expected.positive)
        assert bool(answer.model) == in_band
    assert 0 < asked < len(dataset)
    assert (both.scale, both.judge) == (JUDGE.scale, f"groundedness@{prompt.version}")


def test_a_client_that_opens_no_other_model_refuses_before_it_asks() -> None:
    """With both names."""
    with Client(Simulated()) as client, pytest.raises(InputError, match="'slow' cannot be asked"):
        judge(with_band(0.2, 0.9), rows_of(3), client)
    assert client.stats.calls == 0
