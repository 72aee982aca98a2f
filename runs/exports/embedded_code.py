"""Code that a Python export carries with it: fences and the reading of a reply. Each function is copied as it stands.

The reading is the part of `judges/reply.py` that a tool needs: JSON as Judgewright reads it, of prose the last verdict
line only. What cannot be read raises ValueError, which the tools record as a failure; it is never a zero. A function
uses `hashlib`, `json`, `re` and other functions of this file, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re


def fenced(template: str, fields: dict[str, str], version: str) -> str:
    """Fill a template in one pass; the row's text comes through as it is, in fences whose tag it cannot know."""
    content = json.dumps([version, sorted(fields.items())], ensure_ascii=False, separators=(",", ":"))
    tag = hashlib.blake2b(content.encode(), digest_size=4).hexdigest()

    def fence(place: re.Match[str]) -> str:
        name = place.group(1)
        text = fields[name].replace(tag, tag[:4] + " " + tag[4:])
        return f"<{name}-{tag}>\n{text}\n</{name}-{tag}>"

    return re.sub(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}", fence, template)


def without_thinking(reply: str) -> str:
    """Drop the thinking a reply opens with, even if its opening tag is missing; all of it where it never ends."""
    tag = re.search(r"</?think(?:ing)?>", reply, re.IGNORECASE)
    before = "" if tag is None else reply[: tag.start()]
    if tag is not None and tag[0][1] == "/" and before.count("{") == before.count("}"):
        reply = reply[tag.end() :]
    while opened := re.match(r"\s*<think(?:ing)?>", reply, re.IGNORECASE):
        closed = re.compile(r"</think(?:ing)?>", re.IGNORECASE).search(reply, opened.end())
        reply = reply[closed.end() :] if closed else ""
    return reply.strip()


def last_object(text: str, names: tuple[str, ...]) -> dict | None:
    """Return the last JSON object of a text that has one of the names; None where there is no object.

    An object inside braces that were broken and are still open does not count: it may be quoted.
    """
    refused: list[str] = []
    decoder = json.JSONDecoder(strict=False, parse_constant=refused.append, parse_int=float)
    body, some, broken, depth, at = None, False, False, 0, 0
    while (start := text.find("{", at)) >= 0:
        refused.clear()
        depth = max(0, depth - text.count("}", at, start))
        try:
            found, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            found, at = None, max(start + 1, error.pos)
            depth = max(0, depth + text.count("{", start, at) - text.count("}", start, at))
        if found is None or refused or depth:
            broken = True
        else:
            some = True
            for name in names:
                inner = found
                for key in name.split("."):
                    inner = inner.get(key) if isinstance(inner, dict) else None
                if inner is not None:
                    found[name] = inner
            if any(name in found for name in names):
                body, broken = found, False
    if broken or (some and body is None):
        raise ValueError(f"no verdict in {text[:120]!r}")
    return body


def last_line(text: str) -> str:
    """Return what the last line that names a verdict says; the whole text where no line does."""
    marks = " \t\"'*_`>#[](){}"
    named = r"(?:the |my )?(?:final |overall )?(?:score|grade|rating|verdict|label|answer)[ \"'*_`]*[:=]"
    told = [line.strip(marks) for line in text.splitlines() if re.match(named, line.lstrip(marks), re.IGNORECASE)]
    value = re.split("[:=]", told[-1], maxsplit=1)[1] if told else text
    return value.strip(marks).removesuffix(".").rstrip(marks)


def after_mark(text: str, before: str, after: str) -> str:
    """Return what stands after the last mark, up to its other side or the end of the line; no mark: `last_line`."""
    marks = " \t\"'*_`>#[](){}"
    pattern = r"\s+".join(map(re.escape, before.removesuffix(":").split())) + r"\s*:" * before.endswith(":")
    found = list(re.finditer(pattern, text, re.IGNORECASE))
    if not found:
        return last_line(text)
    rest = text[found[-1].end() :].lstrip(" \t\r\n*_`")
    line = rest.partition(after)[0] if after else rest.partition("\n")[0]
    return line.strip(marks).removesuffix(".").rstrip(marks)


def at_edge(text: str, first: bool) -> str:
    """Return the first or last line of a text, unless a line names the verdict; of a first line, its first words."""
    lines = text.strip().splitlines() or [""]
    named = last_line(text)
    marks = " \t\"'*_`>#[](){}"
    if named != text.strip(marks).removesuffix(".").rstrip(marks):
        return named
    line = re.split("[,.;:!]", lines[0], maxsplit=1)[0] if first else lines[-1]
    return line.strip(marks).removesuffix(".").rstrip(marks)


def number(value: object) -> float:
    """Return a number, which may be written as text."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,9}(?:\.[0-9]{1,9})?\s*", value):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{value!r} is no number")


def whole_number(value: object, low: int, high: int) -> float:
    """Return a whole number of the scale."""
    found = number(value)
    if not low <= found <= high or found != int(found):
        raise ValueError(f"{value!r} is no grade from {low} to {high}")
    return found


def share(value: object) -> float:
    """Return a probability."""
    found = number(value)
    if not 0.0 <= found <= 1.0:
        raise ValueError(f"{value!r} is no probability")
    return found


def place(value: object, labels: tuple[str, ...]) -> float:
    """Return the place of a label in the list."""
    word = value.strip() if isinstance(value, str) else ""
    same = [i for i, label in enumerate(labels) if label.casefold() == word.casefold()]
    if len(same) == 1:
        return float(same[0])
    if word in labels:
        return float(labels.index(word))
    raise ValueError(f"{value!r} is none of {list(labels)}")


def yes_or_no(value: object, labels: tuple[str, ...]) -> float:
    """Return 1 for the positive label, yes, true, positive or 1; 0 for their opposites."""
    if isinstance(value, bool | int | float) and value in (0, 1):
        return float(value)
    try:
        return place(value, labels)
    except ValueError:
        for at, words in enumerate((("no", "false", "0", "negative"), ("yes", "true", "1", "positive"))):
            if isinstance(value, str) and value.strip().lower() in words:
                return float(at)
        raise
