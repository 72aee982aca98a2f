"""Events: what a journal has comes out as it went in, whatever version wrote it."""

import json
import sqlite3
import tarfile
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges.errors import WorkspaceError
from judgewright.optimize.event_fields import own_fields
from judgewright.optimize.events import (
    FORMAT,
    KINDS,
    GateDecided,
    Remeasured,
    SliceChosen,
    read_as,
    read_event,
)
from judgewright.optimize.run_event import write_event

GOLDEN = Path(__file__).parents[1] / "runs" / "golden" / "workspace-2026-11.tar.xz"
TEXT = st.text(max_size=8)
PLAIN = st.none() | st.booleans() | st.integers() | TEXT
JSON = st.recursive(
    PLAIN | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def payloads(draw: st.DrawFn, cls: type[Any]) -> dict[str, Any]:
    """A payload that a class may have written."""
    payload: dict[str, Any] = {}
    for field, part in own_fields(cls):
        about = field.metadata
        optional = field.default is None
        if optional and draw(st.booleans()):
            continue
        if "rest" in about:
            payload |= draw(
                st.dictionaries(st.text("xyz", min_size=9, max_size=12), JSON, max_size=3)
            )
        elif "flat" in about:
            payload |= draw(payloads(part))
        else:
            payload[about.get("stored", field.name)] = draw(_value(field, part, optional=optional))
    return payload


def _value(field: Any, part: Any, *, optional: bool) -> st.SearchStrategy[Any]:
    if part is not None:
        object = payloads(part)
        return st.lists(object, max_size=2) if str(field.type).startswith("tuple") else object
    assert field.default is MISSING or field.default is None
    return JSON.filter(lambda value: value is not None) if optional else JSON


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_read_is_written_back(kind: str, data: st.DataObject) -> None:
    """To the letter, with a null where there was one and nothing where there was nothing."""
    payload = data.draw(payloads(KINDS[kind]))
    event = read_event(kind, payload)
    assert event is not None
    assert (event.kind, event.format) == (kind, FORMAT)
    assert json.dumps(write_event(event), sort_keys=True) == json.dumps(payload, sort_keys=True)


def test_every_event_of_november_2026_is_read_and_written_back(tmp_path: Path) -> None:
    """Also those without the fields that came later, whose absence is given its meaning."""
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    kinds: set[str] = set()
    for path in (tmp_path, tmp_path / "demo"):
        with sqlite3.connect(path / ".judgewright" / "judgewright.db") as database:
            stored = database.execute("SELECT kind, payload_json FROM event").fetchall()
        database.close()
        for kind, text in stored:
            payload = json.loads(text)
            event = read_event(kind, payload)
            if event is None:
                assert kind == "hunks"
                continue
            written = write_event(event)
            payload.pop("archive", None)  # of candidates; nothing shows it any more
            assert written == payload
            kinds.add(kind)
            if isinstance(event, GateDecided):
                assert event.decision.evidence is not None
                assert (event.format, event.decision.evidence.unanswered) == (1, 0)
            if isinstance(event, Remeasured):
                assert (event.format, event.includes_sealed_rows) == (1, event.after is not None)
    assert kinds == KINDS.keys() - {"decided", "refused", "gated", "chance", "measured"}


def test_a_kind_of_another_version_is_none_and_a_missing_field_is_named() -> None:
    """Nothing is guessed where every version wrote the field."""
    assert read_event("tuned", {"trials": []}) is None
    with pytest.raises(WorkspaceError, match="no field 'loss'"):
        read_event("validation", {"version": "a"})


def test_all_rows_have_one_spelling_in_the_journal_and_one_in_the_code() -> None:
    """`all rows` there, no predicate here."""
    assert read_as(SliceChosen, {"name": "all rows", "why": "asked", "found": []}).predicate is None
    named = read_as(SliceChosen, {"name": "source_words >= 400", "why": "named", "found": []})
    assert str(named.predicate) == "source_words >= 400"


def test_a_decision_without_a_candidate_has_no_evidence() -> None:
    """It is three fields, and stays three."""
    payload = {
        "accepted": False,
        "outcome": "refused",
        "reason": "no candidate beat the prompt on validation",
    }
    event = read_as(GateDecided, payload)
    assert event.decision.evidence is None
    assert write_event(event) == payload
