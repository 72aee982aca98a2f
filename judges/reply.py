"""Read a verdict out of a model's reply.

JSON decides first: the last top-level object with the prompt's score field, and then nothing around it is read.
In prose the last line that names a verdict decides, because a reply may quote the row, the scale or its own draft
before it decides. Where the deciding place is not readable, nothing else is tried: a reply without a readable
verdict is `Unscored`; it is never a zero, and never an earlier grade.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from .models.model import Completion, plain_finish
from .prompt import JudgePrompt
from .scale import OutputScale
from .verdict import Answer, Unscored, UnscoredReason, Verdict

MAX_REPLY = 1 << 20
"""Characters; a longer reply is not read."""
MAX_OBJECTS = 200
"""Opening braces at which a JSON object is tried; a reply with more of them has no last one that we know."""

_THINKING = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_SCORE_WORDS = ("score", "grade", "rating", "verdict", "label", "answer")
WORDS_FOR_ONE = frozenset({"yes", "true", "1", "positive"})
WORDS_FOR_ZERO = frozenset({"no", "false", "0", "negative"})

# Every repeat below is bounded or possessive, so that no reply can stall us.
_MARK = r"\s\"'*_`\[\](){}“”‘’«»"
_MARKS = rf"[{_MARK}]{{0,40}}+"
_LINE_HEAD = (
    r"^[ \t>*_#`\"'“‘«|•(\[+-]{0,40}+(?:[0-9]{1,2}[.)][ \t*_]{0,8}+)?"
    r"(?:(?:the|my)[ \t*_]{1,8}+)?(?:(?:final|overall)[ \t*_]{1,8}+)?"
)
_SENTENCE = re.compile(
    r"\b(?:the|my|final|overall)[\s*_]{1,8}+(?:score|grade|rating|verdict)[\s*_]{1,8}+is\b:?", re.IGNORECASE
)
_CONFIDENCE = re.compile(rf"confidence{_MARKS}[:=]{_MARKS}", re.IGNORECASE)
_SHARE = re.compile(r"(?:[01]?\.[0-9]{1,9}+|[01])(?!\w|[.,][0-9]|\s{0,9}(?:[%/–-]|to\b|of\b|out\b))")
_NUMBER = r"-?[0-9]{1,9}+(?:\.[0-9]{1,9}+)?+"


@dataclass(slots=True)
class _Reading:
    score: float
    parser: str
    confidence: float | None = None
    rationale: str = ""


class _Ambiguous(Exception):
    """The deciding object says two different things."""


@dataclass(frozen=True, slots=True)
class _Twice:
    """The values of a field that stands more than once in an object, with different values."""

    last: Any  # Any: JSON from a model


@dataclass(slots=True)
class _Objects:
    """The last top-level object with a score field, and whether there is any object, a broken one after it, or more."""

    body: dict[str, Any] | None  # Any: JSON from a model
    some: bool
    broken: bool
    cut: bool = False


def read_reply(prompt: JudgePrompt, completion: Completion, *, row_id: str = "") -> Answer:
    """Turn a completion into a verdict, or into the reason why there is none."""
    common = {
        "row_id": row_id,
        "reply_hash": completion.reply_hash,
        "tokens_in": completion.tokens_in,
        "tokens_out": completion.tokens_out,
        "cost": completion.cost,
        "latency": completion.latency,
    }
    broken = why_broken(completion)
    if broken is not None:
        return Unscored(reason=broken[0], detail=broken[1], **common)
    if len(completion.text) > MAX_REPLY:
        return Unscored(reason="parse", detail=f"a reply of {len(completion.text):,} characters is not read", **common)
    text = without_thinking(completion.text)
    try:
        names, reading = prompt.reply_fields["score"], None
        objects = _plain_object(text, names) or _objects(text, names)
        unsure = objects.cut or (objects.broken and prompt.reply_schema)
        if objects.body is not None and not unsure:
            reading = _from_json(prompt, names, objects.body)
        in_prose = objects.body is None and not objects.some
        # Braces where JSON was asked for are a broken object, and are not read as prose.
        if in_prose and not (prompt.reply_schema and ("{" in text or "}" in text)):
            reading = _from_text(prompt, text)
    except _Ambiguous as error:
        return Unscored(reason="parse", detail=str(error), **common)
    if reading is None:
        return Unscored(reason="parse", detail=f"no verdict in {text[:120]!r}", **common)
    if not prompt.scale.contains(reading.score):
        detail = f"score {reading.score:g} is outside {prompt.scale.describe()}"
        return Unscored(reason="parse", detail=detail, **common)
    return Verdict(
        score=reading.score,
        positive=prompt.scale.positive(reading.score),
        confidence=reading.confidence,
        rationale=reading.rationale.encode("utf-8", "replace").decode(),  # lone surrogates cannot be stored
        parser=reading.parser,
        **common,
    )


def why_broken(completion: Completion) -> tuple[UnscoredReason, str] | None:
    """Return why a reply is not a complete answer in its text, as a reason and in words; None where it is.

    A verdict in the arguments of a tool that nobody offered is not read, and a reply that ended in a way we do not know
    may be a piece of one: neither counts, and both say so.
    """
    ending = plain_finish(completion.finish_reason)  # earlier versions kept the endpoint's own word
    if completion.refusal or ending == "content_filter":
        return "refused", (completion.refusal or "content filter")[:200]
    if ending == "length":
        return "truncated", f"{cut_off(completion)}; raise --max-tokens, or max_tokens of the model in models.yaml"
    if ending == "tool_calls":
        return "parse", "the reply calls a tool instead of answering in its text; none was offered"
    if ending != "stop":
        return "endpoint", f"the reply ended by {ending!r}, which does not say that it is whole"
    return None


def cut_off(completion: Completion) -> str:
    """Say that a reply was cut at its limit of tokens, and how many of them the model thought with."""
    thought = completion.reasoning_tokens
    spent = f", after {thought:,} tokens of reasoning" if thought else ""
    return f"the reply was cut off at its limit of tokens{spent}"


def without_thinking(text: str) -> str:
    """Drop the thinking a reply opens with; all of it where it never ends. One quoted later is text like any other.

    Where the chat template has opened it already, the reply has the closing tag only.
    """
    at = 0
    tag = _TAG.search(text)
    # Not within an object: there the tag is quoted, perhaps from a row that wants to be read as a verdict.
    if tag is not None and tag[0][1] == "/" and text.count("{", 0, tag.start()) == text.count("}", 0, tag.start()):
        at = tag.end()
    while opened := _THINKING.match(text, at):
        closed = _THOUGHT.search(text, opened.end())
        if closed is None:
            return ""
        at = closed.end()
    return text[at:].strip()


def _plain_object(text: str, names: tuple[str, ...]) -> _Objects | None:
    """Read a reply that is one flat object, as nearly all are; None where it is anything else.

    It says what `_objects` says, in a tenth of its time. A field that stands twice shows in the number of quotes.
    """
    if not text.startswith("{"):
        return None
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    quotes = 2 * len(body)
    for name, value in body.items():
        kind = type(value)
        if kind is str:
            quotes += 2
        elif kind is int:
            body[name] = float(value)
        elif kind is not float and kind is not bool and value is not None:
            return None
    if _count_quotes(text) != quotes:
        return None
    scored = any(name in body for name in names)
    return _Objects(body if scored else None, some=True, broken=False)


def _count_quotes(text: str) -> int:
    """Count the quotes of a JSON text that open or close a string: those that are not escaped."""
    if "\\" not in text:
        return text.count('"')
    # A backslash that is escaped itself escapes nothing.
    text = text.replace("\\\\", "")
    return text.count('"') - text.count('\\"')


def _objects(text: str, names: tuple[str, ...]) -> _Objects:
    """Find the top-level JSON objects of a reply, in one pass from left to right.

    What a failed attempt has passed over is not tried again, and an object inside braces that failed and are
    still open is not top-level: it may be a quotation in a JSON reply that is broken further out.
    """

    def opened(start: int, end: int) -> int:
        return text.count("{", start, end) - text.count("}", start, end)

    refused: list[str] = []
    # float reads a number of any length at once; int would refuse thousands of digits
    decoder = json.JSONDecoder(
        strict=False, parse_constant=refused.append, parse_int=float, object_pairs_hook=_with_doubles
    )
    body, some, broken, depth, at = None, False, False, 0, 0
    for _ in range(MAX_OBJECTS):
        start = text.find("{", at)
        if start < 0:
            return _Objects(body, some, broken)
        depth = max(0, depth + opened(at, start))
        refused.clear()
        try:
            parsed, length = decoder.raw_decode(text[start:])  # a slice: an error counts the line breaks before it
        except json.JSONDecodeError as error:
            parsed, length = None, max(1, error.pos)
            depth = max(0, depth + opened(start, start + length))
        except RecursionError:
            return _Objects(body, some, broken, cut=True)
        at = start + length
        if parsed is None or refused or depth:
            broken = True
            continue
        some = True
        for name in names:
            if "." in name and name not in parsed and (found := _nested(parsed, name)) is not None:
                parsed[name] = found
        if any(name in parsed for name in names):
            body, broken = parsed, False
    return _Objects(body, some, broken, cut=text.find("{", at) >= 0)


def _nested(body: Any, path: str) -> Any:  # Any: JSON from a model
    """Return what stands at a path such as `evaluation.score`; None where nothing does."""
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _with_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON from a model
    """Build an object, keeping for every field that it holds twice that the two differ; `json` would take the last."""
    body = dict(pairs)
    if len(body) == len(pairs):
        return body
    for name, value in pairs:
        last = body[name]
        if not isinstance(last, _Twice) and (type(value), value) != (type(last), last):
            body[name] = _Twice(last)
    return body


def _from_json(prompt: JudgePrompt, names: tuple[str, ...], body: dict[str, Any]) -> _Reading | None:
    """Return the verdict of a JSON object; its texts may quote the row and are not searched for one."""
    name = next(name for name in names if name in body)
    if isinstance(body[name], _Twice):
        raise _Ambiguous(f"the field {name!r} stands more than once in the reply, with different values")
    score = _grade(prompt.scale, body[name])
    if score is None:
        return None
    confidence = None
    for field in prompt.reply_fields["confidence"]:
        if field in body:
            confidence = _share(body[field])
            break
    try:
        found = ((f, body[f] if f in body else _nested(body, f)) for f in prompt.reply_fields["text"])
        texts = [text for f, text in found if f in body or text is not None]
        rationale = "\n".join(str(text.last if isinstance(text, _Twice) else text) for text in texts)
    except RecursionError:  # a text field that holds lists a thousand deep
        rationale = ""
    return _Reading(score, "json", confidence, rationale)


def _from_text(prompt: JudgePrompt, text: str) -> _Reading | None:
    """Return the verdict of a prose reply: its last verdict line, else its last sentence with one, else all of it."""
    lines = text.splitlines()
    if text.startswith("```") and len(lines) > 2 and lines[-1].strip() == "```":
        text = "\n".join(lines[1:-1]).strip()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    value = _value_pattern(prompt.scale)
    if prompt.reply_mark and (written := _marked(prompt, value, text)) is not None:
        score = _grade(prompt.scale, written) if written else None
        return None if score is None else _Reading(score, "mark", None, text)
    if line := _last(_line_pattern(prompt), text):
        written, parser = _value_after(value, text, line.end()), "last"
    elif sentence := _last(_SENTENCE, text):
        written, parser = _value_after(value, text, sentence.end()), "sentence"
    else:
        written, parser = _only_value(value, text), "whole"
    score = None if written is None else _grade(prompt.scale, written)
    if score is None:
        return None
    confidence = None
    if (stated := _last(_CONFIDENCE, text)) and (share := _SHARE.match(text, stated.end())):
        confidence = _share(float(share.group()))
    return _Reading(score, parser, confidence, text)


def _marked(prompt: JudgePrompt, value: str, text: str) -> str | None:
    """Return the value at the prompt's own mark, empty where none can be read there; None where the mark is missing."""
    if not prompt.mark_sides[0]:
        if _last(_line_pattern(prompt), text):
            return None  # a line with the name of a verdict says more than its place
        lines = text.strip().splitlines()
        if prompt.reply_mark == "last line":
            return _only_value(value, lines[-1]) if lines else None
        match = re.match(rf"[{_MARK}]{{0,40}}{value}", lines[0], re.IGNORECASE) if lines else None
        return match.group(1) if match else None
    before, after = (_with_any_blanks(side) for side in prompt.mark_sides)
    mark = _last(re.compile(rf"(?<!\w){before}" if prompt.mark_sides[0][0].isalnum() else before, re.IGNORECASE), text)
    if mark is None:
        return None
    closed = rf"[{_MARK}.]{{0,40}}?{after}" if after else ""
    match = re.compile(rf"[{_MARK}]{{0,40}}{value}{closed}", re.IGNORECASE).match(text, mark.end())
    return match.group(1) if match else ""


def _with_any_blanks(mark: str) -> str:
    """Return the pattern of one side of a mark; there may be a blank before its colon, as in French."""
    pattern = r"\s+".join(map(re.escape, mark.removesuffix(":").split()))
    return rf"{pattern}\s*:" if mark.endswith(":") else pattern


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


def _line_pattern(prompt: JudgePrompt) -> re.Pattern[str]:
    """Return the pattern of a line that opens with the name of a verdict and a colon or equals sign."""
    words = dict.fromkeys((*prompt.reply_fields["score"], *(w for w in _SCORE_WORDS if w not in prompt.reply_schema)))
    named = "|".join(re.escape(w).replace("_", "[ _]") for w in sorted(words, key=len, reverse=True))
    gap = r"[ \t\"'*_`\])”’»]{0,40}+"
    return re.compile(rf"{_LINE_HEAD}(?:{named}){gap}[:=：]", re.IGNORECASE | re.MULTILINE)


def _value_after(value: str, text: str, at: int) -> str | None:
    """Return the value on the rest of a line; of an empty rest, a next line that is nothing but a value."""
    rest = text[at:].partition("\n")[0]
    if not rest.strip(" \t*_`"):
        return _only_value(value, text[at + len(rest) :].lstrip().partition("\n")[0])
    match = re.match(rf"[{_MARK}]{{0,40}}{value}", " ".join(rest.split()), re.IGNORECASE)
    return match.group(1) if match else None


def _only_value(value: str, text: str) -> str | None:
    match = re.fullmatch(rf"[{_MARK}]{{0,40}}{value}{_MARKS}\.?{_MARKS}", text, re.IGNORECASE)
    return match.group(1) if match else None


def _value_pattern(scale: OutputScale) -> str:
    """Return a pattern with one group for a value of the scale that is not part of a word, number, range or choice."""
    labels = scale.labels if scale.kind != "probability" else ()
    plain = ("yes", "no", "true", "false", "1", "0") if scale.kind == "binary" else ()
    words = sorted(dict.fromkeys((*(" ".join(label.split()) for label in labels), *plain)), key=len, reverse=True)
    value = "|".join(map(re.escape, words)) or _NUMBER
    end = (
        r"(?!_{0,8}[^\W_]|[-+>=&^~°]|<(?!/?[a-z])|\.[0-9]"
        rf"|{_MARKS}(?:[?？/／…→]|\\?[%‰％]|\.\.|[-=]>|[-–—−~]{{1,3}}\s?[0-9]|[,;]\s?[0-9]|[,;]?\s?(?:to|or)\b"
        rf"|(?:of|out\sof|through|until|versus|vs|per\s?cent)\b|(?:and\s|[|]\s?)(?:a\shalf|{value})\b))"
    )
    if words:
        # "no evidence", "I think", "A bit" open a phrase, unless the word after them gives a reason
        alone = r"(?!\s(?!(?:because|since|as)\b)[^\W\d_])"
        phrase = {w for w in words if w.lower() == "no" or (len(w) == 1 and w.isalpha())}
        parts = [re.escape(word) + (alone if word in phrase else "") for word in words]
        return rf"({'|'.join(parts)}){end}"
    high = 1 if scale.kind == "probability" else scale.high
    return rf"({_NUMBER})(?:{_MARKS}(?:[/／]|(?:out\s)?of\b){_MARKS}{high}{end}|{end})"


def _grade(scale: OutputScale, value: Any) -> float | None:  # Any: JSON from a model
    if isinstance(value, str):
        word = value.strip()
        folded = [label.casefold() for label in scale.labels]
        if word.casefold() in folded and folded.count(word.casefold()) == 1:
            return float(folded.index(word.casefold()))
        if word in scale.labels:
            return float(scale.labels.index(word))
        if scale.kind == "choice" or (scale.kind == "graded" and scale.labels):
            return None
        if scale.kind == "binary":
            if word.lower() in WORDS_FOR_ONE:
                return 1.0
            return 0.0 if word.lower() in WORDS_FOR_ZERO else None
        return float(word) if re.fullmatch(_NUMBER, word) else None
    if isinstance(value, bool):
        return float(value) if scale.kind == "binary" else None
    if isinstance(value, int | float) and math.isfinite(value) and scale.kind != "choice":
        if scale.kind == "graded" and scale.labels:  # grades named 0, 0.5 and 1
            name = f"{value:g}"
            return float(scale.labels.index(name)) if name in scale.labels else None
        return float(value)
    return None


def _share(value: Any) -> float | None:  # Any: JSON from a model
    """Read a stated confidence in [0, 1]; anything else counts as not stated."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    return None
