"""A model's reply that must be one JSON object of a fixed form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ...judges import Completion, cut_off, without_thinking

MAX_REPLY = 20_000
"""Characters of a reply that are still read."""

T = TypeVar("T", bound=BaseModel)


class Strict(BaseModel):
    """A JSON object with these keys, these types and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


def closed(fields: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON schema
    """Return the JSON schema of an object with these fields and nothing else."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def reply_format(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON schema
    """Return the response format of such a reply."""
    schema = {"name": name, "strict": True, "schema": closed(fields)}
    return {"type": "json_schema", "json_schema": schema}


def reply_text(completion: Completion) -> str:
    """Return the text of a reply without the thinking before it.

    Raises:
        ValueError: The model refused, was cut off, or called a tool.
    """
    if completion.refusal is not None or completion.finish_reason == "content_filter":
        raise ValueError("the model refused to answer")
    if completion.finish_reason == "length":
        raise ValueError(
            f"{cut_off(completion)}; answer more briefly, or a person raises optimizer_max_tokens"
        )
    if completion.finish_reason == "tool_calls":
        raise ValueError("the reply calls a tool; answer in the text of the reply")
    return without_thinking(completion.text)


def parse_object(text: str, form: type[T]) -> T:
    """Read one JSON object, a Markdown fence around it allowed, nothing else.

    Raises:
        ValueError: It is too long, or is not JSON with the right keys.
    """
    if len(text) > MAX_REPLY:
        raise ValueError(f"the reply has {len(text):,} characters; {MAX_REPLY:,} are read")
    body, lines = text, text.strip().splitlines()
    if len(lines) >= 3 and lines[0].strip() in ("```", "```json") and lines[-1].strip() == "```":
        body = "\n".join(lines[1:-1])
    try:
        return form.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the reply is not one JSON object: {error.msg}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the reply"
        raise ValueError(f"{field}: {first['msg']}") from None
