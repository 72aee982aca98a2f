"""What every journal keeps, tried on the one in memory."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError, WorkspaceError
from judgewright.optimize import first_difference

from .in_memory import MemoryJournal

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_events_stand_in_the_order_they_were_recorded() -> None:
    """Positions count from 0, and payloads come back as JSON has them."""
    journal = MemoryJournal()
    journal.record("split", {"rows": (1, 2)})
    journal.record("benchmark", {"f1": 0.5})
    assert [(e.seq, e.kind, e.payload) for e in journal.events()] == [
        (0, "split", {"rows": [1, 2]}),
        (1, "benchmark", {"f1": 0.5}),
    ]


def test_a_resumed_run_finds_its_events_and_goes_on() -> None:
    """What stands is returned with its first volatile part; what is new is appended."""
    first = MemoryJournal()
    first.record("step", {"loss": 0.25, "volatile": {"seconds": 3.5}})
    again = MemoryJournal(first.events())
    event = again.record("step", {"loss": 0.25, "volatile": {"seconds": 0.1, "recorded": True}})
    assert event == first.events()[0]
    assert again.record("step", {"loss": 0.2}).seq == 1
    assert [e.seq for e in again.events()] == [0, 1]


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("decision", {"a": {"f1": 0.5}, "b": [1, 2]}, "'step', now 'decision'"),
        ("step", {"a": {"f1": 0.6}, "b": [1, 2]}, "a.f1 was 0.5, now 0.6"),
        ("step", {"a": {"f1": 0.5}, "b": [1, 3]}, r"b\[1\] was 2, now 3"),
        ("step", {"a": {"f1": 0.5}, "b": [1]}, "b had 2 entries, now 1"),
        ("step", {"a": {}, "b": [1, 2]}, "a.f1 was recorded"),
        ("step", {"a": {"f1": 0.5}, "b": [1, 2], "c": None}, "c was not recorded"),
        ("step", {"a": {"f1": 0.5}, "b": [True, 2]}, r"b\[0\] was 1, now True"),
    ],
)
def test_a_diverging_run_is_stopped_at_the_first_difference(
    kind: str, payload: dict[str, object], said: str
) -> None:
    """The message names event and field."""
    first = MemoryJournal()
    first.record("step", {"a": {"f1": 0.5}, "b": [1, 2]})
    with pytest.raises(WorkspaceError, match=r"diverged at event 0 \(step\).*" + said):
        MemoryJournal(first.events()).record(kind, payload)


@pytest.mark.parametrize(
    "payload", [{"f1": math.nan}, {"f1": math.inf}, {"f1": {1, 2}}, {"f1": object()}]
)
def test_what_is_not_json_is_refused(payload: dict[str, object]) -> None:
    """A number that is not finite would come back as something else."""
    with pytest.raises(InputError, match="'benchmark'"):
        MemoryJournal().record("benchmark", payload)


@settings(max_examples=100, deadline=None)
@given(payload=st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_any_json_replays_as_itself(payload: dict[str, object]) -> None:
    """What was recorded is equal to what is found again, whatever it holds."""
    first = MemoryJournal()
    event = first.record("step", payload)
    assert MemoryJournal(first.events()).record("step", payload) == event


@settings(max_examples=100, deadline=None)
@given(one=JSON, other=JSON)
def test_a_difference_is_named_exactly_when_there_is_one(one: object, other: object) -> None:
    """The oracle is the text of the values, in which True and 1 differ; 1.0 and 1 are the same
    number.
    """
    text = repr(one) == repr(other)
    if text:
        assert first_difference(one, other) is None
    if first_difference(one, other) is None:
        assert one == other
