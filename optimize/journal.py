"""The journal of one run: its events, in order, and the same again when the run is resumed.

A resumed run repeats its deterministic steps from the start, over recorded replies. Where an event
already stands, `record` compares instead of writing: the run must come to what it came to before.
What may differ, such as times, cost and latency, stands under the key `volatile` of a payload and
is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..judges import DivergedError, InputError

Payload = Mapping[str, Any]
"""JSON; Any because each kind of event has its own fields."""

VOLATILE = "volatile"
"""The key of a payload whose content may differ between two sessions of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing found, at its position in the run."""

    seq: int
    """Position in the run, from 0."""
    kind: str
    payload: Payload
    created: str
    """UTC, ISO 8601."""


class Journal(Protocol):
    """The append-only events of one run."""

    def record(self, kind: str, payload: Payload) -> Event:
        """Write the next event down, durably, or find it written already.

        Returns:
            The event as it stands in the journal, with its first session's volatile part.

        Raises:
            DivergedError: Another event stands at this position: the run is not what it was.
            InputError: The payload is not JSON, or holds a number that is not finite.
        """
        ...

    def events(self) -> tuple[Event, ...]:
        """Return every event of the run, those not yet repeated included."""
        ...


class Unrecorded:
    """The journal of what is worked out beside a run's course: it keeps nothing."""

    def record(self, kind: str, payload: Payload) -> Event:
        """Return the event as it would stand in a journal."""
        return Event(seq=0, kind=kind, payload=payload, created="")

    def events(self) -> tuple[Event, ...]:
        """Return none."""
        return ()


def as_json(kind: str, payload: Payload) -> str:
    """Return the payload as canonical JSON, in ASCII.

    Raises:
        InputError: It is not JSON, or holds a number that is not finite.
    """
    try:
        return json.dumps(payload, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InputError(f"event {kind!r} cannot be kept as JSON: {error}") from error


def require_same(event: Event, kind: str, content: str) -> Event:
    """Return the event if its kind and payload are those found again.

    Args:
        content: The payload found again, as canonical JSON.

    Raises:
        DivergedError: They differ; the message names the first field that does.
    """
    if event.kind != kind:
        difference: str | None = f"recorded {event.kind!r}, now {kind!r}"
    else:
        difference = first_difference(_lasting(event.payload), _lasting(json.loads(content)))
    if difference is not None:
        raise DivergedError(
            f"resumed run diverged at event {event.seq} ({event.kind}): {difference}",
            hint="the data, a prompt, the model or the program has changed since",
        )
    return event


def first_difference(recorded: object, current: object, path: str = "") -> str | None:
    """Name the first field, in sorted order, in which two JSON values differ; None if they are
    equal.
    """
    if isinstance(recorded, Mapping) and isinstance(current, Mapping):
        for key in sorted({*recorded, *current}):
            inner = f"{path}.{key}" if path else str(key)
            if key not in current:
                return f"{inner} was recorded and is not there now"
            if key not in recorded:
                return f"{inner} was not recorded and is there now"
            if (difference := first_difference(recorded[key], current[key], inner)) is not None:
                return difference
        return None
    if isinstance(recorded, list) and isinstance(current, list):
        for i, (one, other) in enumerate(zip(recorded, current, strict=False)):
            if (difference := first_difference(one, other, f"{path}[{i}]")) is not None:
                return difference
        return (
            None
            if len(recorded) == len(current)
            else f"{path} had {len(recorded)} entries, now {len(current)}"
        )
    # True equals 1 in Python and is another value in JSON.
    if recorded == current and isinstance(recorded, bool) == isinstance(current, bool):
        return None
    return f"{path or 'payload'} was {_short(recorded)}, now {_short(current)}"


def _lasting(payload: Payload) -> Payload:
    return {key: value for key, value in payload.items() if key != VOLATILE}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
