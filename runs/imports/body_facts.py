"""What a YAML or JSON file says of a judge beside its prompt: keys of thresholds, labels and the
answer's schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .file_facts import (
    FAILS,
    LABEL_LISTS,
    LABEL_SCORES,
    PASSES,
    THRESHOLD_NAME,
    Compared,
    FileFacts,
)

Body = Mapping[str, Any]  # Any: JSON or YAML


def facts_of(body: Body, text: str) -> FileFacts:
    """Return what keys beside the prompt say: a threshold, labels or their scores, and comments of
    the file.
    """
    flat = dict(_entries(body))
    thresholds = [
        float(value)
        for key, value in flat.items()
        if THRESHOLD_NAME.search(str(key))
        and isinstance(value, int | float)
        and not isinstance(value, bool)
    ]
    scores: Mapping[str, Any] = next(
        (
            value
            for key, value in flat.items()
            if isinstance(value, Mapping) and LABEL_SCORES.search(str(key))
        ),
        {},
    )
    scores = scores if all(isinstance(number, int | float) for number in scores.values()) else {}
    labels = next(
        (
            value
            for key, value in flat.items()
            if LABEL_LISTS.search(str(key))
            and isinstance(value, list | str)
            and "version" not in body
        ),
        (),
    )
    return FileFacts(
        comments=(
            "\n".join(re.findall(r"(?m)(?:^|\s)#+ (.*)$", text))
            if not text.lstrip().startswith("{")
            else ""
        ),
        thresholds=tuple(dict.fromkeys(thresholds)),
        compared=tuple(_compared(flat)),
        labels=tuple(map(str, labels)) or tuple(map(str, scores)),
        scores={str(label): float(number) for label, number in scores.items()},
        answer_fields=_asked_fields(body),
    )


def _entries(body: Body, depth: int = 3) -> Iterator[tuple[str, Any]]:  # Any: JSON, YAML or TOML
    """Yield the entries of a mapping and of those in it, the outermost last, so that they count."""
    for value in body.values() if depth > 1 else ():
        if isinstance(value, Mapping):
            yield from _entries(value, depth - 1)
    yield from body.items()


def _asked_fields(body: Body) -> dict[str, str]:
    """Return the fields of the schema that is sent beside the messages, each with its labels or
    limits.
    """
    properties = _properties(body)
    found = {
        str(name): _said(value) for name, value in properties.items() if isinstance(value, Mapping)
    }
    return found or _short_schema(body)


def _short_schema(body: Body) -> dict[str, str]:
    """Return the fields of the output schema of a Dotprompt file: `verdict(enum, what it is):
    [good, bad]`.
    """
    output = body.get("output")
    schema = output.get("schema") if isinstance(output, Mapping) else None
    fields: dict[str, str] = {}
    for key, value in schema.items() if isinstance(schema, Mapping) else ():
        name, bracket, _ = str(key).partition("(")
        listed = (
            {"enum": value}
            if bracket and isinstance(value, list)
            else {"type": str(value).partition(",")[0]}
        )
        fields[name.rstrip("?")] = _said(
            {**listed, "description": str(value).partition(",")[2].strip()}
        )
    return fields


def _properties(body: Any) -> Body:  # Any: JSON or YAML
    """Return the properties of the first JSON schema in a file, wherever it stands."""
    if not isinstance(body, Mapping):
        return {}
    if isinstance(body.get("properties"), Mapping):
        return body["properties"]
    return next((found for value in body.values() if (found := _properties(value))), {})


def _said(field: Body) -> str:
    if isinstance(values := field.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    said = [
        {"boolean": "boolean", "array": "list"}.get(
            str(field.get("type")), str(field.get("type", "string"))
        )
    ]
    if "minimum" in field and "maximum" in field:
        said.append(f"from {field['minimum']} to {field['maximum']}")
    return f"<{', '.join([*said, *filter(None, [str(field.get('description', '')).replace(chr(34), chr(39))])])}>"  # noqa: E501


def _compared(flat: Body) -> Iterator[Compared]:
    """Yield the labels that keys such as `fail_on`, and values such as "verdict == safe", let pass
    or fail.
    """
    for key, value in flat.items():
        fails = FAILS.search(str(key)) is not None
        if not fails and not PASSES.search(str(key)):
            continue
        labels: tuple[str, ...] = ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            labels = tuple(value)
        elif isinstance(value, str) and (
            said := re.fullmatch(r"(?:[\w.]+ ?==? ?)?[\"']?([\w -]{1,40}?)[\"']?", value.strip())
        ):
            labels = (said[1],)
        if labels:
            yield Compared(operator="in", labels=labels, passes=not fails, code=f"{key}: {value}")
