"""Code that a Python export carries with it: fences, and how a chat completion is read. Each is
copied as it stands.

The reading of a reply's text is `judges/reply_reading.py`, which is copied whole. A function here
uses the standard library, that file and the constants of the module.
"""

# ruff: noqa: F821  # names of the module that the functions are copied into
# pyright: reportUndefinedVariable=false, reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import json
import re
from typing import Any


def fenced(template: str, fields: dict[str, str], version: str) -> str:
    """Fill a template in one pass; the row's text comes through as it is, in fences whose tag it
    cannot know.
    """
    content = json.dumps(
        [version, sorted(fields.items())], ensure_ascii=False, separators=(",", ":")
    )
    tag = hashlib.blake2b(content.encode(), digest_size=4).hexdigest()

    def fence(place: re.Match[str]) -> str:
        name = place.group(1)
        text = fields[name].replace(tag, tag[:4] + " " + tag[4:])
        return f"<{name}-{tag}>\n{text}\n</{name}-{tag}>"

    return re.sub(r"\{\{([^\W\d]\w*)\}\}", fence, template)


def read_reply(
    reply: str | None, finish_reason: str = "stop", refusal: str | None = None
) -> tuple[float, str]:
    """Return the grade that a reply gives, and its reasons.

    Args:
        reply: Its text.
        finish_reason: Why it ended, as the endpoint says; a reply that was cut off has no grade.
        refusal: What the endpoint says instead of a reply.

    Raises:
        ValueError: It gives no grade of the scale; such a row has no score, not a zero.
    """
    require_whole(finish_reason, refusal)
    found = read_text(reply or "", REPLY_FORM)
    return found.score, found.rationale


def read_completion(completion: Any) -> tuple[float, str]:
    """Return the grade and the reasons of a chat completion: an object of the openai package, or
    its JSON.

    Raises:
        ValueError: It gives no grade of the scale.
    """

    def part(of: Any, name: str) -> Any:
        return of.get(name) if isinstance(of, dict) else getattr(of, name, None)

    choices = part(completion, "choices")
    if not choices:
        raise Unreadable("the endpoint gave no reply", "endpoint")
    message, text = part(choices[0], "message"), part(part(choices[0], "message"), "content")
    if isinstance(text, list):
        text = "".join(part(one, "text") or "" for one in text)
    ending = plain_finish(part(choices[0], "finish_reason") or "")
    if ending == "stop" and (part(message, "tool_calls") or part(message, "function_call")):
        ending = "tool_calls"
    refusal = part(message, "refusal") or part(
        part(message, "provider_specific_fields"), "refusal"
    )  # of LiteLLM
    return read_reply(text, ending, refusal)
