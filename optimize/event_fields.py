"""How the fields of an event stand in its JSON object, by their types, defaults and metadata; see
`events.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from ..judges import WorkspaceError


def read_fields(cls: type[Any], payload: Mapping[str, Any]) -> tuple[dict[str, Any], list[int]]:
    """Return the arguments of an event's class, and the format of each field that the payload is
    too old for.

    Raises:
        WorkspaceError: A field is missing that every version has written.
    """
    missing: list[int] = []
    return _read(cls, payload, _stored_names(cls), missing), missing


@cache
def own_fields(cls: type[Any]) -> tuple[tuple[Field[Any], type[Any] | None], ...]:
    """Return the fields of a class that stand in a payload, each with the class of its parts, if it
    has any.
    """
    hints = get_type_hints(cls)
    return tuple((one, _part(hints[one.name])) for one in fields(cls) if one.name != "format")


def _part(hint: Any) -> type[Any] | None:  # Any: an annotation
    if is_dataclass(hint):
        return hint  # type: ignore[return-value]  # an annotation is no instance
    return next(filter(None, map(_part, get_args(hint))), None)


def _stored_name(one: Field[Any]) -> str:
    return one.metadata.get("stored", one.name)


@cache
def _stored_names(cls: type[Any]) -> frozenset[str]:
    """Return the entries that a payload of this class may have by name, those of flattened fields
    included.
    """
    names: set[str] = set()
    for one, part in own_fields(cls):
        if "flat" in one.metadata and part:
            names |= _stored_names(part)
        elif "rest" not in one.metadata:
            names |= {_stored_name(one), one.metadata.get("was", one.name)}
    return frozenset(names)


def _read(
    cls: type[Any], payload: Mapping[str, Any], names: Collection[str], missing: list[int]
) -> dict[str, Any]:
    """Return the arguments of a class.

    Args:
        cls: The class.
        payload: The JSON object that has its fields.
        names: Entries that have a field of their own.
        missing: Takes the format of each field that the payload is too old for.
    """
    values: dict[str, Any] = {}
    for one, part in own_fields(cls):
        about, name = one.metadata, _stored_name(one)
        if name not in payload:
            name = about.get("was", name)
        if "rest" in about:
            values[one.name] = {key: value for key, value in payload.items() if key not in names}
        elif "flat" in about and part:
            # A part that may be absent is there when its first field is.
            if one.default is MISSING or _stored_name(own_fields(part)[0][0]) in payload:
                values[one.name] = part(**_read(part, payload, names, missing))
        elif name in payload:
            values[one.name] = _read_value(payload[name], part, missing)
        elif "since" in about:
            missing.append(about["since"])
            earlier = about["earlier"]
            values[one.name] = earlier(payload) if callable(earlier) else earlier
        elif one.default is MISSING:
            raise WorkspaceError(f"an event of kind {cls.__name__} has no field {name!r}")
    return values


def _read_value(value: object, part: type[Any] | None, missing: list[int]) -> object:
    if isinstance(value, list):
        return tuple(_read_value(one, part, missing) for one in value)
    if part is not None and isinstance(value, Mapping):
        return part(**_read(part, value, _stored_names(part), missing))
    return value


def write_fields(part: Any, version: int) -> dict[str, Any]:  # Any: a dataclass of events
    """Return the JSON object of an event or a part of one, as a format has it."""
    payload: dict[str, Any] = {}
    for one, _ in own_fields(type(part)):
        about = one.metadata
        value: Any = getattr(part, one.name)
        if "rest" in about:
            payload |= value
        elif (value is None and one.default is None) or about.get("since", 0) > version:
            continue
        elif "flat" in about:
            payload |= write_fields(value, version)
        else:
            payload[_stored_name(one)] = _write_value(value, version)
    return payload


def _write_value(value: object, version: int) -> object:
    if isinstance(value, tuple):
        return [_write_value(one, version) for one in value]
    return write_fields(value, version) if is_dataclass(value) else value
