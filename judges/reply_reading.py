"""Read a verdict out of a reply's text, with Python's standard library alone.

Judgewright reads replies with this file, and a Python export carries it as it stands: no tool reads
a reply in another way. `runs/exports/adapters/reply_reading.mjs` is the same in JavaScript; both
pass `tests/runs/exports/test_reply_reading.py`.

A judge states where its verdict stands, in a field of a JSON object or at a mark, and it is read
there and nowhere else. A reply ends with its turn: what follows a chat template's mark, or the
prompt's own heads once more, is not read. Of JSON the last top-level object decides that is as
complete as any other; in prose the last mark does. Where that cannot be read, a bounded repair is
tried, which counts only where it leaves one reading.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NotRequired, TypedDict, cast

MAX_REPLY = 1 << 20
"""Characters; a longer reply is not read."""
MAX_OBJECTS = 200
"""Opening braces at which a JSON object is tried; of more, none is known to be the last."""
MAX_REPAIR = 1 << 15
"""Characters; a longer reply is not repaired, nor are more than `MAX_REPAIRS` objects of one."""
MAX_REPAIRS = 20

_ENDINGS = {
    "stop": "null none stop stopped stopsequence stopsequences stopword eos eostoken endoftext"
    " endturn endofturn endofsequence end complete completed done finish finished success",
    "length": "length maxtokens maxoutputtokens maxlength modellength maxnewtokens contextlength"
    " modelcontextwindowexceeded tokenlimit maxcompletiontokens",
    "content_filter": "contentfilter contentfiltered safety recitation blocklist prohibitedcontent"
    " spii refusal sensitive errortoxic guardrailintervened guardrail moderation flagged blocked",
    "tool_calls": "toolcalls toolcall tooluse functioncall",
}
FINISHES = {"": "stop"} | {word: end for end, words in _ENDINGS.items() for word in words.split()}
"""What endpoints call the end of a reply, without case and separators, and which of four ends it
is: OpenAI, Azure, vLLM, TGI, llama.cpp, Gemini, Mistral, Cohere, Anthropic, Bedrock and gateways.
"""
_ENUM = re.compile(r"^(?:.*[.:]|(?:finish|stop)_?reason_(?=.))")
"""What stands before the name of an enumeration's member: `FinishReason.STOP`."""

_THOUGHTS = (
    r"(?:[a-z]{1,12}[:_-]){0,2}(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratch_?pad"
    r"|analysis|monologue|cot)(?:[_-][a-z]{1,12})? ?"
)
_OPENS_THOUGHT = (
    rf"<\|channel\|?>(?:analysis|commentary|thought)(?:<\|message\|>)?|[<◁\[]{_THOUGHTS}[>▷\]]"
    rf"|<\|(?:(?:start|begin)_(?:of_)?)?{_THOUGHTS}\|>"
)
_ENDS_THOUGHT = (
    rf"[<◁\[]/{_THOUGHTS}[>▷\]]|<\|(?:/|end_(?:of_)?){_THOUGHTS}\|>|<channel\|>|assistantfinal"
    r"|<\|channel\|>final<\|message\|>"
    r"|<\|(?:start|begin)_(?:of_)?(?:response|text|solution|answer|box)\|>"
)
"""What ends the thinking or opens the answer, in the templates of the families of models."""
_ENDS_TURN = (
    r"</?s>|<[|｜][a-z0-9_▁ :/-]{1,40}[|｜]?>|<[a-z0-9_▁]{1,40}[|｜]>|\[\|/?[a-z0-9_]{2,20}\|\]"
    r"|\[/?INST\]|<</?SYS>>|<(?:end|start)_of_[a-z]{2,12}>|<(?:[a-z]{1,8}:)?[be]o[stmahd]>"
    r"|<(?:reserved|unused|extra_id|special)_?[0-9]{1,4}>"
)
"""The marks of chat templates, by their forms."""
_TAG = re.compile(rf"{_OPENS_THOUGHT}|(?P<ends>{_ENDS_THOUGHT})", re.IGNORECASE)
_OPENING = re.compile(
    rf"[ \t\r\n]*(?:(?P<thought>{_OPENS_THOUGHT})"
    rf"|(?:{_ENDS_TURN})(?:assistant|model|(?P<other>user|human|system))?)",
    re.IGNORECASE,
)
_TURN = re.compile(rf"(?P<struck><s>[^<\n]{{1,200}}</s>)|{_ENDS_TURN}", re.IGNORECASE)
_ASKER = r"(?:human|q|question|user|customer|instructions?|input|prompt|system)"
_ANSWERER = r"(?:assistant|model|ai|response|output)"

_BLANKS = " \t\r\n\f\v\u00a0\u3000\ufeff"
_PICTURES = "\u2600-\u2604\u2607-\u27bf\ufe0f\U0001f300-\U0001faff"
_MARKS = rf"[\s\"'*_`\[\](){{}}“”‘’«»{_PICTURES}]{{0,40}}"
"""What may stand round a value."""
_LETTER = r"[^\W\d_]"
_NUMBER = r"-?(?:[0-9]{1,9}(?:\.[0-9]{1,9}|,[0-9]{1,2}(?![0-9]))?|\.[0-9]{1,9})"
"""With a comma as in German; 1,000 is none."""
_KEY = (
    rf"(?![^\n:]{{0,40}}confidence)[#>+ \t-]{{0,8}}{_MARKS}{_LETTER}[\w ]{{0,40}}"
    rf"(?:[(\[][^()\[\]\n]{{0,40}}[)\]])?{_MARKS}[:：=]"
)
"""A word before the value on its line."""
_BEGINS_REASON = rf"{_MARKS}(?:[.,;:–—(\[-]|$)|[ \t]{{0,9}}[(\[]"
"""What may follow on a value: `4 (Mostly)`."""
_CONFIDENCE = rf"confidence{_MARKS}[:=]{_MARKS}"
_SHARE = re.compile(
    r"(?:[01]?\.[0-9]{1,9}|[01])(?![\w.,]?[0-9]|\w|\s{0,9}(?:[%/–-]|to\b|of\b|out\b))"
)
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")
WORDS_FOR_ONE = frozenset({"yes", "true", "1", "positive"})
WORDS_FOR_ZERO = frozenset({"no", "false", "0", "negative"})
_MISSING, _TWICE = object(), object()
"""Of an object's fields, one that is not there, and one that has two different values."""
_TWO_VERDICTS = "the reply has two verdicts that differ, and nothing says which of them counts"


class ReplyForm(TypedDict):
    """What a judge's replies look like, as JSON."""

    kind: str
    """`graded`, `binary`, `probability` or `choice`."""
    low: int
    high: int
    low_is_good: NotRequired[bool]
    """Whether a probability is that of the bad, so that the grade is 1 minus it."""
    labels: Sequence[str]
    json: bool
    """Whether the reply is asked for as a JSON object."""
    field: str
    """The field of the object with the verdict; `a.b` is the field `b` of `a`."""
    texts: Sequence[str]
    confidences: Sequence[str]
    heads: Sequence[str]
    """What stands before the texts of a row in the prompt; where a reply has it again, it has gone
    on by itself.
    """
    mark: str
    """Of a reply in prose: `start`, `last line`, `last word`, or `between` the two texts that
    follow.
    """
    before: str
    after: str


@dataclass(slots=True)
class Reading:
    """What a reply says."""

    score: float
    parser: str
    """Where it stood: `json` or `mark`; `repaired` if the reply was mended."""
    confidence: float | None = None
    rationale: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])  # Any: JSON from a model
    """Of a JSON object the fields that were asked for."""


class Unreadable(ValueError):
    """A reply has no verdict that can be relied on; such a row has no score, which is not a zero.

    Args:
        message: Why.
        reason: What stands in the way.
    """

    def __init__(
        self, message: str, reason: Literal["parse", "truncated", "refused", "endpoint"] = "parse"
    ) -> None:
        super().__init__(message)
        self.reason: Literal["parse", "truncated", "refused", "endpoint"] = reason


@lru_cache(64)
def plain_finish(reason: str) -> str:
    """Return `stop`, `length`, `content_filter` or `tool_calls`; any other word in lower case."""
    word = reason.strip().lower()
    return FINISHES.get(re.sub("[^a-z]", "", _ENUM.sub("", word)), word[:40])


def require_whole(finish_reason: str, refusal: str | None = None) -> None:
    """Raise `Unreadable` unless a reply is a complete answer in its text.

    A verdict in the arguments of a tool that nobody offered is not read, and a reply that ended in
    a way we do not know may be a piece of one: neither counts, and both say so.
    """
    ending = plain_finish(finish_reason)
    if refusal or ending == "content_filter":
        raise Unreadable((refusal or "content filter")[:200], "refused")
    if ending == "length":
        raise Unreadable("the reply was cut off at its limit of tokens", "truncated")
    if ending == "tool_calls":
        raise Unreadable(
            "the reply calls a tool instead of answering in its text; none was offered"
        )
    if ending != "stop":
        raise Unreadable(
            f"the reply ended by {ending!r}, which does not say that it is whole", "endpoint"
        )


def read_text(text: str, form: ReplyForm) -> Reading:
    """Return the verdict of a whole reply; raises `Unreadable` where it has none on the scale."""
    if len(text) > MAX_REPLY:
        raise Unreadable(f"a reply of {len(text):,} characters is not read")
    text = without_thinking(text)
    read = _read_objects if form["json"] else _read_prose
    reading = read(text, form, False)
    if reading is None and len(text) <= MAX_REPAIR:
        reading = read(text, form, True)
        if reading is not None:
            reading.parser = "repaired"
    return on_scale(reading, text, form)


def on_scale(reading: Reading | None, text: str, form: ReplyForm) -> Reading:
    """Return a verdict of a text; raises `Unreadable` where there is none on the scale."""
    if reading is None:
        raise Unreadable(f"no verdict in {text[:120]!r}")
    score, needs_integer = reading.score, form["kind"] != "probability"
    if not form["low"] <= score <= form["high"] or (needs_integer and not score.is_integer()):
        raise Unreadable(f"score {score:g} is outside {form['low']}..{form['high']}")
    if form.get("low_is_good"):
        reading.score = turned(score)
    return reading


def turned(number: float) -> float:
    """Return 1 minus a number, to twelve places, so that 1 minus the result is the number again."""
    return math.floor((1.0 - number) * 1e12 + 0.5) / 1e12


def without_thinking(text: str) -> str:
    """Drop the thinking that a reply opens with; all of it where it never ends.

    Where the chat template has opened it already, the reply has the closing tag only. A template's
    mark at the start goes too, and with that of a person's turn all of it: there is no reply.
    """
    at = 0
    tag = _TAG.search(text)
    # Within an object the tag is quoted, perhaps from a row that wants to be read as a verdict.
    if tag and tag["ends"] and text.count("{", 0, tag.start()) == text.count("}", 0, tag.start()):
        at = tag.end()
    while opened := _OPENING.match(text, at):
        thought = re.compile(_ENDS_THOUGHT, re.IGNORECASE)
        closed = thought.search(text, opened.end()) if opened["thought"] else opened
        if closed is None or opened["other"]:
            return ""
        at = closed.end()
    return text[at:].strip(_BLANKS)


def _turn_end(text: str, at: int, end: int) -> int | None:
    """Return where a chat template ends the turn between two places of a reply."""
    marks = (mark.start() for mark in _TURN.finditer(text, at, end) if not mark["struck"])
    return next(marks, None)


def _heads_pattern(form: ReplyForm) -> re.Pattern[str]:
    """Return the pattern of a line that opens another turn: a head of the prompt, or a role."""
    ends = r"[ \t*\r\]>]{0,4}(?:[:：]|(?=\n|\Z))"
    heads = rf"{_ASKER}{ends}|(?P<answerer>{_ANSWERER}{ends})"
    for head in form["heads"]:
        heads += rf"|{_with_any_blanks(head)}" + ("" if head.startswith("<") else ends)
    return re.compile(rf"(?<=[\n}}])[ \t#*>\[<-]{{0,8}}(?:{heads})", re.IGNORECASE)


def _read_objects(text: str, form: ReplyForm, loose: bool) -> Reading | None:
    """Return the verdict of the last top-level object that is as complete as any other.

    Where two turns have verdicts that differ, or a repair leaves two readings, there is none. An
    object inside braces that are broken and still open may be a quotation, and is not top-level.
    """
    if loose and text.startswith('"'):  # all of the reply is JSON in a text
        inside = _decode(f'{{"":{text}}}', 0)[0]
        text = inside[""].strip(_BLANKS) if inside and isinstance(inside.get(""), str) else text
    first_turn = text[: _turn_end(text, 0, len(text))]
    if loose and not re.search(r"[{}]", first_turn):
        return _read_prose(first_turn, form, True)
    objects = _top_objects(text, form, loose)
    return _choose(objects, form, loose) if objects else None


def _top_objects(
    text: str, form: ReplyForm, loose: bool
) -> list[tuple[int, dict[str, Any]]]:  # Any: JSON from a model
    """Return the top-level objects with the field of the verdict, each with the number of its turn;
    none where one that counts as much is broken.
    """
    last_name = form["field"].rpartition(".")[2].lower()
    objects: list[tuple[int, dict[str, Any]]] = []  # Any: as above
    turn = depth = at = repairs = 0
    broken = False
    for _ in range(MAX_OBJECTS):
        start = text.find("{", at)
        end = len(text) if start < 0 else start
        over = _turn_end(text, at, end) is not None
        if objects or (broken and last_name in text[:end].lower()):
            heads = list(_heads_pattern(form).finditer(text, at, end))
            over = over or not all(head["answerer"] for head in heads)
            turn += len(heads)
        if over or start < 0:
            break
        depth = max(0, depth - text.count("}", at, start))
        body, at = _decode(text, start)
        if body is None and loose and repairs < MAX_REPAIRS:
            repairs += 1
            body, at = _decode_nearly(text, start) or (None, at)
        if body is None or depth:
            broken = True
            depth += body is None
            continue
        fields = _asked_fields(_unwrapped(body, form) if loose else body, form, loose)
        if form["field"] in fields:
            objects.append((turn, fields))
            broken = broken and len(fields) < max(len(one) for _, one in objects)
    else:
        objects = [] if "{" in text[at:] else objects
    return [] if broken else objects


def _choose(
    objects: list[tuple[int, dict[str, Any]]],  # Any: JSON from a model
    form: ReplyForm,
    loose: bool,
) -> Reading | None:
    """Return the verdict of the last of the most complete objects, which come with their turns."""
    most = max(len(fields) for _, fields in objects)
    complete = [(turn, fields) for turn, fields in objects if len(fields) == most]
    turn, last = complete[-1]
    reading = read_object(last, form, loose=loose)
    for _, fields in objects if turn != objects[0][0] else complete if loose else ():
        other = read_object(fields, form, loose=loose)
        if reading is None or other is None or other.score != reading.score:
            raise Unreadable(_TWO_VERDICTS)
    return reading


def read_object(fields: dict[str, Any], form: ReplyForm, *, loose: bool = False) -> Reading | None:
    """Return the verdict of an object's fields; its texts may quote the row and are not searched
    for one.
    """
    value = fields[form["field"]]
    if value is _TWICE:
        raise Unreadable(
            f"the field {form['field']!r} stands more than once in the reply, with different values"
        )
    score = _loose_grade(form, value) if loose else _grade(form, value)
    if score is None:
        return None
    stated = [fields[name] for name in form["confidences"] if name in fields]
    texts = [str(fields[name]) for name in form["texts"] if isinstance(fields.get(name), str)]
    confidence = _share(stated[0]) if stated else None
    return Reading(score, "json", confidence, "\n".join(texts), fields)


def _decode(text: str, start: int) -> tuple[dict[str, Any] | None, int]:  # Any: JSON from a model
    """Return the JSON object that starts at a brace, and where to go on."""
    refused: list[str] = []
    # float reads a number of any length at once; int would refuse thousands of digits
    decoder = json.JSONDecoder(
        strict=False,
        parse_constant=refused.append,
        parse_int=float,
        object_pairs_hook=_with_doubles,
    )
    try:
        # a slice: an error counts the line breaks before it
        body, length = decoder.raw_decode(text[start:])
    except (json.JSONDecodeError, RecursionError):
        return None, start + 1
    return (None, start + 1) if refused else (body, start + length)


_ENDS_TEXT = r"(?=[ \t\r\n]{0,40}(?:[,:：，=}\]]|//|/\*|#|\Z)|[ \t\r]{0,40}\n[ \t\r\n]{0,40}[\"'“])"
_QUOTED = "|".join(
    rf"{opening}((?:\\[\s\S]|[^\\{closing}]|[{closing}](?!{_ENDS_TEXT}))*)[{closing}]{_ENDS_TEXT}"
    for opening, closing in (('"', '"'), ("'", "'"), ("[“”„]", "“”"), ("`", "`"))
)
_NEARLY = (
    rf"[ \t\r\n]+|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|([{{}}\[\],:：，=])|{_QUOTED}"
    r"|((?:[^ \t\r\n,:：，=\[\]{}\"'“”„`/#]|/(?![/*]))(?:[^\n,:：，\[\]{}\"“”/#]|/(?![/*]))*)"
)
"""A piece of an object that is nearly JSON: blanks, a comment, a sign, a quoted text, a word."""
_ESCAPE = re.compile(r"\\([\"\\/bfnrt]|u[0-9a-fA-F]{4})|\\'|[\\\"]")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BARE = {"true": "true", "false": "false"} | dict.fromkeys(
    ("null", "none", "nan", "undefined"), "null"
)


def _decode_nearly(
    text: str, start: int
) -> tuple[dict[str, Any], int] | None:  # Any: JSON from a model
    """Read an object that is nearly JSON: comments, commas, quotes, escapes and bare words as
    people write them.
    """
    if text.startswith("{{", start):  # as templates write a brace
        inner = _decode_nearly(text, start + 1)
        return (inner[0], inner[1] + 1) if inner and text.startswith("}", inner[1]) else None
    written = _as_strict(text, start)
    body = _decode(written[0], 0)[0] if written else None
    return (body, written[1]) if written and body is not None else None


def _as_strict(text: str, start: int) -> tuple[str, int] | None:
    """Return an object that is nearly JSON as JSON, and where it ends; None where it is none."""
    pieces: list[str] = []
    depth, at = 0, start
    nearly = re.compile(_NEARLY)  # large, and seldom needed
    while piece := nearly.match(text, at):
        at = piece.end()
        sign, *quoted, bare = piece.groups()
        sign = {"：": ":", "=": ":", "，": ","}.get(sign, sign)
        last = pieces[-1] if pieces else ""
        if sign in ("}", "]"):
            depth -= 1
            if last == ",":
                pieces.pop()
        elif sign == "," == last:
            continue
        elif sign not in (",", ":"):
            value = sign or _as_json(bare, next((one for one in quoted if one is not None), None))
            if value is None:
                if bare:
                    return None
                continue
            if last and last not in "{[,:":
                pieces.append(",")
            depth += sign in ("{", "[")
            sign = value
        pieces.append(sign)
        if not 0 < depth < 50:
            break
    return None if depth else ("".join(pieces), at)


def _as_json(bare: str | None, quoted: str | None) -> str | None:
    """Return a bare word or a quoted text as JSON; None where it stands for something left out."""
    if quoted is not None:
        escaped = _ESCAPE.sub(
            lambda one: one[0] if one[1] else "'" if one[0] == "\\'" else "\\" + one[0], quoted
        )
        return f'"{escaped}"'
    word = (bare or "").rstrip(" \t\r").removeprefix("+")
    if not re.search(r"[^\W_]", word):
        return None
    return word if _JSON_NUMBER.fullmatch(word) else _BARE.get(word.lower(), json.dumps(word))


def _asked_fields(body: Any, form: ReplyForm, loose: bool) -> dict[str, Any]:  # Any: JSON
    """Return the fields of an object that were asked for; loosely, however they are spelled."""
    fields: dict[str, Any] = {}  # Any: JSON from a model
    for name in (form["field"], *form["texts"], *form["confidences"]):
        value: Any = body  # Any: as above
        for part in [name] if name in body else name.split("."):
            inner = (
                cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            )  # Any: as above
            if loose:
                inner = _with_doubles([(_plain_name(key), one) for key, one in inner.items()])
                part = _plain_name(part)
            value = inner.get(part, _MISSING)
        if value is not _MISSING:
            fields[name] = value
    return fields


def _unwrapped(body: dict[str, Any], form: ReplyForm) -> dict[str, Any]:  # Any: JSON from a model
    """Return the object with the verdict inside up to three others, such as a call of a tool.

    An object that holds more than the other has to hold all that was asked for.
    """
    names = {form["field"], *form["texts"], *form["confidences"]}
    for _ in range(3):
        if form["field"] in _asked_fields(body, form, True):
            break
        inner: list[dict[str, Any]] = []  # Any: as above
        for name, value in body.items():
            if isinstance(value, str) and value.startswith("{"):  # the arguments of a call
                value = _decode(value, 0)[0]
            if isinstance(value, dict) and name not in names:
                inner.append(cast("dict[str, Any]", value))  # Any: as above
        if len(body) > 1:
            inner = [one for one in inner if len(_asked_fields(one, form, False)) == len(names) > 1]
        if len(inner) != 1:
            break
        body = inner[0]
    return body


def _plain_name(name: str) -> str:
    """Return a name without case, and without what stands between its parts."""
    return re.sub(r"(?<=\w)[ _-]+(?=\w)", "", name.strip(" \t*")).lower()


def _with_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON from a model
    """Build an object, keeping for every field that it holds twice that the two differ; `json`
    would take the last.
    """
    body = dict(pairs)
    for name, value in pairs if len(body) < len(pairs) else ():
        if (type(value), value) != (type(body[name]), body[name]):
            body[name] = _TWICE
    return body


def _read_prose(text: str, form: ReplyForm, loose: bool) -> Reading | None:
    """Return the verdict of a reply in prose.

    Where a head of the prompt follows on a verdict, the model has gone on with a row of its own. An
    object in the place of the prose counts where one of its values is a grade.
    """
    text = text[: _turn_end(text, 0, len(text))].replace("\r\n", "\n").strip(_BLANKS)
    text = text.removeprefix("```json").strip("`" + _BLANKS)
    if loose and text.startswith("{") and text.endswith("}"):
        body, end = _decode_nearly(text, 0) or (None, 0)
        score = _only_grade(form, body) if end == len(text) else None
        return None if score is None else Reading(score, "mark", None, text)
    for head in list(_heads_pattern(form).finditer(text))[:8]:
        reading = _read_mark(text[: head.start()].strip(_BLANKS), form, loose)
        if reading:
            again = _read_mark(text[head.end() :].strip(_BLANKS), form, loose)
            if head["answerer"] and again and again.score != reading.score:
                raise Unreadable(_TWO_VERDICTS)
            return reading
    return _read_mark(text, form, loose)


def _read_mark(text: str, form: ReplyForm, loose: bool) -> Reading | None:
    """Return the verdict that stands at the judge's mark."""
    position, piece = _marked_piece(text, form, loose)
    written = _value_at(position, piece, form)
    if loose and not written and form["mark"] == "start":  # the reasons first
        written = _value_at("only", text.rpartition("\n")[2], form)
    score = _grade(form, written) if written else None
    if score is None:
        return None
    stated = _last(_CONFIDENCE, text)
    share = _SHARE.match(text, stated.end()) if stated else None
    return Reading(score, "mark", _share(float(share[0])) if share else None, text)


def _marked_piece(text: str, form: ReplyForm, loose: bool) -> tuple[str, str]:
    """Return the place and the piece of text where the verdict has to stand.

    Without the mark, a repair reads a reply that is nothing but a value, or ends with a label.
    """
    mark, after = form["mark"], form["after"]
    if mark != "between":
        line = text.partition("\n")[0] if mark == "start" else text.rpartition("\n")[2]
        if mark == "last word":
            return "end", line
        return "only" if loose else "first" if mark == "start" else "line", line
    before = _with_any_blanks(form["before"])
    opened = _last(rf"(?<!\w){before}" if form["before"][0].isalnum() else before, text)
    if loose and not opened:
        opened = _last(_sloppy(form["before"]), text)
    if not opened:
        return "alone", "" if not loose else text.rpartition("\n")[2] if form["labels"] else text
    rest = text[opened.end() :]
    if after:
        end = _sloppy(after) if loose else _with_any_blanks(after)
        inside = re.split(end, rest, maxsplit=1, flags=re.IGNORECASE)
        return "only" if loose else "alone", inside[0] if loose or len(inside) > 1 else ""
    line, _, following = rest.partition("\n")
    if line.strip(" \t*_`"):
        return "only" if loose else "first", line
    return "alone", following.lstrip(_BLANKS).partition("\n")[0]


def _value_at(position: str, text: str, form: ReplyForm) -> str | None:
    """Return the value at the start of a text: the `first` thing in it, `alone`, alone on a `line`
    after a key, or the `only` value, which a reason may follow; or the one at its `end`.
    """
    value = _value_pattern(form)
    first, end = _MARKS + value, rf"{_MARKS}\.?{_MARKS}\Z"
    if position == "first":
        pattern = first
    elif position == "alone":
        pattern = first + end
    elif position == "line":
        pattern = rf"(?:{_KEY})?{first}{end}"
    elif position == "end":
        pattern = rf"(?:.*(?<![\w-]))?{first}{end}"
    else:  # `<4>` where the prompt has written `<1 to 5>`, and no other value after it
        text = re.sub(r"<([^<>/\n]{1,20})>", r"\1", text.translate(_WIDE))
        again = value.replace("?P<value>", "?:") + ("" if form["labels"] else "|[0-9]")
        again = rf"(?![\s\S]*?(?<!\w)(?:{again}))"
        pattern = rf"(?:{_KEY})?{first}(?={_BEGINS_REASON}){again}"
    match = re.match(pattern, text, re.IGNORECASE)
    return match["value"] if match else None


def _value_pattern(form: ReplyForm) -> str:
    """Return the pattern of a value that is not part of a word, number, range or choice."""
    labels = form["labels"] if form["kind"] != "probability" else ()
    plain = ("yes", "no", "true", "false", "1", "0") if form["kind"] == "binary" else ()
    parts: list[str] = []
    for word in sorted(dict.fromkeys((*labels, *plain)), key=len, reverse=True):
        part = r"[ _-]?".join(map(re.escape, re.split(r"[ _-]", word)))
        # "no evidence", "I think", "A bit" open a phrase
        parts.append(part + rf"(?!\s{_LETTER})" if len(word) < 3 and word.isalpha() else part)
    value = "|".join(parts) or _NUMBER
    beside = rf"|(?:{value})(?!\w)" if parts else ""  # `✅ PASS ❌ FAIL`
    end = (
        rf"(?!_{{0,8}}[^\W_]|[-+>=&^~°]|<(?!/?[a-z])|\.[0-9]|{_MARKS}(?:[?？/／…→]|\\?[%‰％]|\.\."
        r"|[-=]>|[-–—−~]{1,3}\s?[0-9]|[,;]?\s?(?:to|or|of|per\s?cent|and\sa\shalf)(?!\w)"
        rf"|(?:[|,;]\s?|[,;]?\s?(?:{_LETTER}{{1,7}}\s){{1,2}})(?:[0-9]|(?:{value})(?!\w)){beside}))"
    )
    percent = r"(?:\s?(?:[%％]|[/／]\s?100))?" if _of_hundred(form) else ""
    if parts:
        return rf"(?P<value>{value}){percent}{end}"
    points = r"(?:[分点점](?!\w))?"  # as Chinese, Japanese and Korean write after a number
    top = rf"{_MARKS}(?:[/／]|(?:out\s)?of(?!\w)){_MARKS}{form['high']}{points}{end}"
    return rf"(?P<value>{value}){percent}{points}(?:{top}|{end})"


def _of_hundred(form: ReplyForm) -> bool:
    """Whether its grades end at 100, so that a percent sign may stand after one."""
    return form["high"] == 100 or "100" in form["labels"]


def _with_any_blanks(mark: str) -> str:
    """Return the pattern of one side of a mark; as in French, its colon may stand apart."""
    sign = {":": "[:：]", "：": "[:：]", "=": "="}.get(mark[-1:], "")
    words = (mark[:-1] if sign else mark).split()
    return r"\s+".join(map(re.escape, words)) + (rf"\s*{sign}" if sign else "")


def _sloppy(mark: str) -> str:
    """Return the pattern of a mark in other brackets, or with the scale in brackets or another sign
    at its end.
    """
    name = _with_any_blanks(mark.strip("[](){}<>*:： "))
    if not name:
        return _with_any_blanks(mark)
    if mark.endswith((":", "：")):
        return rf"{name}(?:\s*[(\[][^()\[\]\n]{{0,40}}[)\]])?(?:[ \t*_]{{0,9}}[:：=–—-]|[】\]])"
    return rf"[\[(<{{*【]{{1,4}}{name}[\])>}}*】]{{1,4}}[:：]?"


def _last(pattern: str, text: str) -> re.Match[str] | None:
    """Return where a pattern stands for the last time."""
    matches = list(re.finditer(pattern, text, re.IGNORECASE))
    return matches[-1] if matches else None


def _grade(form: ReplyForm, value: Any) -> float | None:  # Any: JSON from a model
    """Return the grade that a value is; None where it is none."""
    kind, labels = form["kind"], form["labels"]
    if isinstance(value, str):
        return _grade_of_word(form, value.strip(_BLANKS))
    if isinstance(value, bool):
        return _plain(value, labels) if kind == "binary" else None
    if kind == "choice" or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if kind == "binary" and labels and value in (0, 1):
        return _plain(value == 1, labels)
    if kind == "graded" and labels:  # grades named 0, 0.5 and 1
        name = f"{value:g}"
        return float(labels.index(name)) if name in labels else None
    return float(value)


def _grade_of_word(form: ReplyForm, word: str) -> float | None:
    """Return the grade that a word or a number in a text is."""
    kind, labels = form["kind"], form["labels"]
    if _of_hundred(form):
        word = word.rstrip("%％" + _BLANKS)
    lower = word.lower()
    for names, name in (
        ([label.lower() for label in labels], lower),
        (list(labels), word),
        ([_plain_name(label) for label in labels], _plain_name(word)),
    ):
        if name and names.count(name) == 1:
            return float(names.index(name))
    if kind == "binary" and lower in WORDS_FOR_ONE | WORDS_FOR_ZERO:
        return _plain(lower in WORDS_FOR_ONE, labels)
    if kind in ("binary", "choice") or (kind == "graded" and labels):
        return None
    return float(word.replace(",", ".")) if re.fullmatch(_NUMBER, word) else None


def _loose_grade(form: ReplyForm, value: Any) -> float | None:  # Any: JSON from a model
    """Return the grade of a value that is nearly one: `"0/3"`, `"4 (Mostly)"`, `[3]`."""
    if isinstance(value, str):
        return _grade(form, _value_at("only", value.strip(_BLANKS), form) or value)
    return _only_grade(form, value) if isinstance(value, dict | list) else _grade(form, value)


def _only_grade(form: ReplyForm, values: Any) -> float | None:  # Any: JSON from a model
    """Return the grade among the values of an object or a list that has one."""
    if isinstance(values, dict):
        values = list(cast("dict[str, Any]", values).values())  # Any: as above
    inner = cast("list[Any]", values or [])  # Any: as above
    if form["labels"]:
        inner = [value for value in inner if isinstance(value, str)]
    grades = [grade for value in inner if (grade := _grade(form, value)) is not None]
    return grades[0] if len(grades) == 1 else None


def _plain(yes: bool, labels: Sequence[str]) -> float:
    """Return the place of a label that says the same as yes or no; without one yes is 1."""
    same = WORDS_FOR_ONE if yes else WORDS_FOR_ZERO
    return float(next((at for at, label in enumerate(labels) if label.lower() in same), yes))


def _share(value: Any) -> float | None:  # Any: JSON from a model
    """Read a stated confidence in [0, 1]; anything else counts as not stated."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    return None
