"""The spec of faults and the way they are drawn."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.simulated import Faults


def test_a_full_spec_is_read_field_by_field() -> None:
    """Every kind of token ends in the field it names."""
    spec = (
        "429=0.10, 503=0.05,garbage=0.05,timeout=0.01,truncate=0.02,badjson=0.03,latency=0.05,"
        "refuse=temperature+logprobs,retry_after=0.05,hold=0.2,seed=3,once=true"
    )
    assert Faults.parse(spec) == Faults(
        statuses=((429, 0.10), (503, 0.05)),
        garbage=0.05,
        timeout=0.01,
        truncate=0.02,
        badjson=0.03,
        latency=0.05,
        refuse=frozenset({"temperature", "logprobs"}),
        retry_after=0.05,
        hold=0.2,
        seed=3,
        once=True,
    )


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("429", "'429'"),
        ("418=0.1", "'418'"),
        ("429=1.5", "'1.5'"),
        ("429=nan", "'nan'"),
        ("429=lots", "'lots'"),
        ("429=0.1,429=0.2", "'429=0.2'"),
        ("garbage=0.1,garbage=0.1", "'garbage'"),
        ("typo=0.1", "'typo'"),
        ("refuse=messages", "'messages'"),
        ("once=maybe", "'maybe'"),
        ("seed=1.5", "'1.5'"),
        ("latency=-1", "'-1'"),
        ("429=0.6,503=0.6", "1.2"),
        ("garbage=0.6,truncate=0.6", "1.2"),
        ("garbage=0.6,refusal=0.6", "1.2"),
    ],
)
def test_a_wrong_spec_is_refused_with_the_token_named(spec: str, named: str) -> None:
    """The person reads which part to mend."""
    with pytest.raises(InputError) as caught:
        Faults.parse(spec)
    assert named in str(caught.value)


@settings(max_examples=50, deadline=None)
@given(body=st.binary(min_size=1, max_size=64), attempt=st.integers(1, 20), seed=st.integers(0, 5))
def test_a_draw_depends_on_seed_body_and_attempt_alone(
    body: bytes, attempt: int, seed: int
) -> None:
    """Two servers with the same spec spoil the same attempts."""
    spec = f"429=0.3,503=0.3,garbage=0.4,truncate=0.3,seed={seed}"
    one, two = Faults.parse(spec), Faults.parse(spec)
    assert one.transient(body, attempt) == two.transient(body, attempt)
    assert one.sticky(body) == two.sticky(body)
    assert one.garbage_text(body) == two.garbage_text(body)


def test_once_spares_every_attempt_but_the_first() -> None:
    """With `once` a retry always gets through; sticky faults stay."""
    faults = Faults.parse("429=1,garbage=1,once=true")
    assert [faults.transient(b"x", attempt) for attempt in (1, 2, 3)] == ["429", None, None]
    assert faults.sticky(b"x") == "garbage"
