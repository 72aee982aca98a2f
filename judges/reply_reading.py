"""Read a verdict out of a reply's text, with Python's standard library alone.

Judgewright reads replies with this file, and a Python export carries it as it stands: no tool reads
a reply in another way. `runs/exports/reply_reading.mjs` is the same in JavaScript; both pass
`tests/runs/exports/test_reply_reading.py`.

A reply ends with its turn: what follows a chat template's mark, or the prompt's own heads once
more, is not read. Of JSON the last top-level object decides that is as complete as any other, and
nothing around it is read. In prose the last line that names a verdict decides, because a reply may
quote the row, the scale or its own draft before it decides. Where that cannot be read, a bounded
repair is tried, which counts only where it leaves one reading.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict, cast

# What follows goes into each Python export.
MAX_REPLY = 1 << 20
"""Characters; a longer reply is not read."""
MAX_OBJECTS = 200
"""Opening braces at which a JSON object is tried; a reply with more of them has no last one that we
know.
"""
MAX_REPAIR = 1 << 15
"""Characters; a longer reply is not repaired, nor are more than the first `MAX_REPAIRS` broken
objects of one.
"""
MAX_REPAIRS = 20

FINISHES: Mapping[str, str] = {
    **dict.fromkeys(
        ("", "null", "none", "stop", "stopped", "stopsequence", "stopsequences", "stopword"), "stop"
    ),
    **dict.fromkeys(
        ("eos", "eostoken", "endoftext", "endturn", "endofturn", "endofsequence", "end"), "stop"
    ),
    **dict.fromkeys(("complete", "completed", "done", "finish", "finished", "success"), "stop"),
    **dict.fromkeys(
        ("length", "maxtokens", "maxoutputtokens", "maxlength", "modellength", "maxnewtokens"),
        "length",
    ),
    **dict.fromkeys(
        ("modelcontextwindowexceeded", "contextlength", "tokenlimit", "maxcompletiontokens"),
        "length",
    ),
    **dict.fromkeys(
        ("contentfilter", "contentfiltered", "safety", "recitation", "blocklist"), "content_filter"
    ),
    **dict.fromkeys(
        ("prohibitedcontent", "spii", "refusal", "sensitive", "errortoxic"), "content_filter"
    ),
    **dict.fromkeys(
        ("guardrailintervened", "guardrail", "moderation", "flagged", "blocked"), "content_filter"
    ),
    **dict.fromkeys(("toolcalls", "toolcall", "tooluse", "functioncall"), "tool_calls"),
}
"""What endpoints call the end of a reply, without case and separators, and which of four ends it
is: OpenAI, Azure, vLLM, TGI, llama.cpp, Gemini, Mistral, Cohere, Anthropic, Bedrock and the
    gateways before them."""
_ENUM = re.compile(r"^(?:.*[.:]|(?:finish|stop)_?reason_(?=.))", re.IGNORECASE)
"""What stands before the name of an enumeration's member: `FinishReason.STOP`,
`FINISH_REASON_STOP`.
"""

_THOUGHTS = (
    r"(?:[a-z]{1,12}[:_-]){0,2}"
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratch_?pad|analysis|monologue|cot)(?:[_-][a-z]{1,12})? ?"  # noqa: E501
)
_OPENS_THOUGHT = (
    rf"<\|channel\|?>(?:analysis|commentary|thought)(?:<\|message\|>)?|[<◁\[]{_THOUGHTS}[>▷\]]"
    rf"|<\|(?:(?:start|begin)_(?:of_)?)?{_THOUGHTS}\|>"
)
_ENDS_THOUGHT = (
    rf"[<◁\[]/{_THOUGHTS}[>▷\]]|<\|(?:/|end_(?:of_)?){_THOUGHTS}\|>|<channel\|>|assistantfinal"
    r"|<\|channel\|>final<\|message\|>|<\|(?:start|begin)_(?:of_)?(?:response|text|solution|answer|box)\|>"
)
"""What ends the thinking or opens the answer after it, in the templates of DeepSeek, Mistral, Kimi,
Cohere, OpenAI.
"""
_ENDS_TURN = (
    r"</?s>|<[|｜][a-z0-9_▁"
    r" :/-]{1,40}[|｜]?>|<[a-z0-9_▁]{1,40}[|｜]>|\[\|/?[a-z0-9_]{2,20}\|\]|\[/?INST\]"
    r"|<</?SYS>>|<(?:end|start)_of_[a-z]{2,12}>|<(?:[a-z]{1,8}:)?[be]o[stmahd]>"
    r"|<(?:reserved|unused|extra_id|special)_?[0-9]{1,4}>"
)
"""The marks of chat templates, by their forms."""
_THOUGHT = re.compile(_ENDS_THOUGHT, re.IGNORECASE)
_TAG = re.compile(rf"{_OPENS_THOUGHT}|(?P<ends>{_ENDS_THOUGHT})", re.IGNORECASE)
_OPENING = re.compile(
    rf"\s*(?:(?P<thought>{_OPENS_THOUGHT})|(?:{_ENDS_TURN})(?:assistant|model|user|human|system)?)",
    re.IGNORECASE,
)
_TURN = re.compile(rf"(?P<struck><s>[^<\n]{{1,200}}</s>)|{_ENDS_TURN}", re.IGNORECASE)
_ASKER = r"(?:human|q|question|user|customer|instructions?|input|prompt|system)"
_ANSWERER = r"(?:assistant|model|ai|response|output)"
SCORE_WORDS = (
    *("score", "grade", "rating", "verdict", "label", "answer"),
    *("评分", "评级", "得分", "分数", "評価", "評点", "スコア", "점수", "평점"),
)
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")
_PICTURES = "\u2600-\u2604\u2607-\u27bf\ufe0f\U0001f300-\U0001faff"
_PICTURE = re.compile(rf"^([^\n{_PICTURES}]*)[{_PICTURES}]+([^\n{_PICTURES}]*)$", re.MULTILINE)
"""A line with one picture, as before a verdict; of several one may be ticked."""
WORDS_FOR_ONE = frozenset({"yes", "true", "1", "positive"})
WORDS_FOR_ZERO = frozenset({"no", "false", "0", "negative"})

# Every repeat below is bounded or possessive, so that no reply can stall us.
_MARK = r"\s\"'*_`\[\](){}“”‘’«»"
_MARKS = rf"[{_MARK}]{{0,40}}+"
_LINE_HEAD = (
    r"^[ \t>*_#`\"'“‘«|•(\[+-]{0,40}+(?:[0-9]{1,2}[.)][ \t*_]{0,8}+)?"
    r"(?:(?:the|my)[ \t*_]{1,8}+)?(?:(?:final|overall)[ \t*_]{1,8}+)?"
)
_SENTENCE = (
    r"\b(?:the|my|final|overall)[\s*_]{1,8}+(?:score|grade|rating|verdict)[\s*_]{1,8}+is\b:?"
)
_CONFIDENCE = rf"confidence{_MARKS}[:=]{_MARKS}"
_SHARE = re.compile(
    r"(?:[01]?\.[0-9]{1,9}+|[01])(?!\w|[.,][0-9]|\s{0,9}(?:[%/–-]|to\b|of\b|out\b))"
)
# a comma in German; 1,000 is none
_NUMBER = r"-?(?:[0-9]{1,9}+(?:\.[0-9]{1,9}+|,[0-9]{1,2}+(?![0-9]))?+|\.[0-9]{1,9}+)"
_PERCENT = r"(?:[%％]|per\s?cent\b)"
_ACCENTS = str.maketrans("áàâéèêëíìîïóòôúùûñç", "aaaeeeeiiiiooouuunc")
_KEY = (
    rf"(?:(?![^\n:]{{0,40}}(?:confidence|konfidenz))[#>+ \t-]{{0,8}}+{_MARKS}[^\W\d_](?:[\w"
    rf" ]{{0,40}}{_MARKS}[:：=]"
    rf"|\w{{0,20}}(?:[ \t]\w{{1,20}})?{_MARKS}(?:[-=]>|→|[ \t][–—-][ \t])))?"
)
_NAMED = r"(?:(?:level|grade|score|rating|stufe|note|nota|points?|punkte|marks?)[ \t]{1,3})?"
_UNIT = r"(?:[ \t]{0,3}(?:stars?|points?|marks?|sterne?|punkte?|estrellas?|★{1,9}+))?+"
_COUNTED = r"(?:[分点점](?!\w))?+"
"""What Chinese, Japanese and Korean write after a number of points, without a blank."""
_ARROW = r"[-=]>|[→⇒]"


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
    scores: Sequence[str]
    """The fields of the object that may hold the grade, the first that is there; `a.b` is the field
    `b` of `a`.
    """
    texts: Sequence[str]
    confidences: Sequence[str]
    heads: NotRequired[Sequence[str]]
    """What stands before the texts of a row in the prompt; where a reply has it again, it has gone
    on by itself.
    """
    mark: str
    """Of a reply in prose: empty, `start`, `last line`, or `between` the two texts that follow."""
    before: str
    after: str


@dataclass(slots=True)
class Reading:
    """What a reply says."""

    score: float
    parser: str
    """Where it stood: `json`, `mark`, `last` line, `sentence` or the `whole` text; `repaired` if it
    was mended.
    """
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


@dataclass(slots=True)
class _Twice:
    """The values of a field that stands more than once in an object, with different values."""

    last: Any  # Any: JSON from a model


_Bodies = list[tuple[int, dict[str, Any]]]  # Any: JSON from a model


def plain_finish(reason: str) -> str:
    """Return `stop`, `length`, `content_filter` or `tool_calls`; of any other word the word itself,
    in lower case.
    """
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
    reading = _read_turn(text, form, loose=False)
    if reading is None and len(text) <= MAX_REPAIR:
        reading = _read_turn(text, form, loose=True)
        if reading is not None:
            reading.parser = "repaired"
    return on_scale(reading, text, form)


def _read_turn(text: str, form: ReplyForm, *, loose: bool) -> Reading | None:
    """Read the first turn of a reply: an object where JSON was asked for or is all there is, else
    prose.

    An object among the words of a reply in prose may be a quotation, and counts where the words
    have no verdict. Braces where JSON was asked for are a broken object, and are not read as prose.
    """
    inside = _decode_text(f'{{"":{text}}}') if loose and text.startswith('"') else None
    if inside and len(inside) == 1 and isinstance(inside[""], str):
        text = inside[""].strip()  # all of the reply is JSON in a text
    turn, words, bodies, broken = _find_objects(text, form, loose)
    if not form["json"] and re.fullmatch(
        r"(?:```[a-z]*[ \r\n]*)?\{[\s\S]*\}(?:[ \r\n]*```)?", turn
    ):
        name = "_".join(
            re.findall(r"[^\W\d_]\w*", form["before"])
        )  # `Verdict: ...` names the field `verdict`
        names = [name, name.lower()] if name else []
        form = {**form, "scores": [*names, *form["scores"], *(SCORE_WORDS if loose else ())]}
        return _choose(_find_objects(text, form, loose)[2], form, loose)
    if form["json"] and ("{" in turn or "}" in turn):
        return None if broken else _choose(bodies, form, loose)
    reading = _read_prose(words.strip(), form, loose)
    at_end = words.rstrip("` \r\n").endswith(_OBJECT) and not form["mark"]
    return reading if reading and not at_end else _choose(bodies, form, loose) or reading


def on_scale(reading: Reading | None, text: str, form: ReplyForm) -> Reading:
    """Return a verdict of a text; raises `Unreadable` where there is none, or one that is not on
    the scale.
    """
    if reading is None:
        raise Unreadable(f"no verdict in {text[:120]!r}")
    score, whole = reading.score, form["kind"] != "probability"
    if not form["low"] <= score <= form["high"] or (whole and not score.is_integer()):
        raise Unreadable(f"score {score:g} is outside {form['low']}..{form['high']}")
    if form.get("low_is_good"):
        reading.score = turned(score)
    return reading


def turned(number: float) -> float:
    """Return 1 minus a number, to twelve places, so that 1 minus the result is the number again."""
    return math.floor((1.0 - number) * 1e12 + 0.5) / 1e12


def without_thinking(text: str) -> str:
    """Drop the thinking a reply opens with; all of it where it never ends. One quoted later is text
    like any other.

    Where the chat template has opened it already, the reply has the closing tag only. A template's
    mark at the start goes too, and with that of a person's turn all of it: there is no reply.
    """
    at = 0
    tag = _TAG.search(text)
    # Not within an object: there the tag is quoted, perhaps from a row that wants to be read as a
    # verdict.
    if tag and tag["ends"] and text.count("{", 0, tag.start()) == text.count("}", 0, tag.start()):
        at = tag.end()
    while opened := _OPENING.match(text, at):
        at = opened.end()
        if opened["thought"]:
            closed = _THOUGHT.search(text, at)
            if closed is None:
                return ""
            at = closed.end()
        elif re.search("user|human|system", opened[0], re.IGNORECASE):
            return ""
    return text[at:].strip()


_OBJECT = "\ufffc"
_TWO_VERDICTS = "the reply has two verdicts that differ, and nothing says which of them counts"


def _find_objects(text: str, form: ReplyForm, loose: bool) -> tuple[str, str, _Bodies, bool]:
    """Find the top-level JSON objects of a reply's turn, loosely those that are nearly JSON too, in
    one pass.

    What a failed attempt has passed over is not tried again, and an object inside braces that
    failed and are still open is not top-level: it may be a quotation in a JSON reply that is broken
    further out.

    Returns:
        The turn; the turn with a sign in the place of each object; of each object with the score
        the turn it is of and the fields that were asked for, of too many objects none; and whether
        one after the last is broken.
    """
    bodies: _Bodies = []
    pieces: list[str] = []
    broken, finish = False, None
    turn = most = depth = at = tries = 0
    for _ in range(MAX_OBJECTS):
        start = text.find("{", at)
        end = len(text) if start < 0 else start
        finish = next(
            (mark.start() for mark in _TURN.finditer(text, at, end) if not mark["struck"]), None
        )
        named = broken and any(
            name.rpartition(".")[2].lower() in text[:at].lower() for name in form["scores"]
        )
        if finish is None and (most or named):
            for head in _heads_pattern(form).finditer(text, at, end):
                if not head["answerer"] and most in (0, _completeness(None, form)):
                    finish = head.start()
                    break
                turn += 1
        if finish is not None or start < 0:
            break
        depth = max(0, depth - text.count("}", at, start))
        pieces.append(text[at:start])
        try:
            parsed, at = _decode(text, start)
            if parsed is None and loose and tries < MAX_REPAIRS:
                tries += 1
                parsed, at = _decode_nearly(text, start) or (None, at)
        except RecursionError:
            return text, "".join(pieces), [], broken
        if parsed is None:
            depth = max(0, depth + text.count("{", start, at) - text.count("}", start, at))
        if parsed is None or depth:
            broken = True
            pieces.append(text[start:at])
            continue
        pieces.append(_OBJECT)
        fields = _asked_fields(parsed, form, loose)
        if any(name in fields for name in form["scores"]):
            bodies.append((turn, fields))
            if _completeness(fields, form) >= most:
                most, broken = _completeness(fields, form), False
    else:
        bodies = [] if "{" in text[at:] else bodies
    pieces.append(text[at:finish])
    return text[:finish].strip(), "".join(pieces), bodies, broken


def _heads_pattern(form: ReplyForm) -> re.Pattern[str]:
    """Return the pattern of a line that opens another turn: a head of the prompt, or who speaks."""
    ends = r"[ \t*\r\]>]{0,4}(?:[:：]|(?=\n|\Z))"
    heads = rf"{_ASKER}{ends}|(?P<answerer>{_ANSWERER}{ends})"
    for head in form.get("heads", ()):
        heads += rf"|{_with_any_blanks(head)}" + ("" if head.startswith("<") else ends)
    return re.compile(rf"(?<=[\n}}])[ \t#*>\[<-]{{0,8}}(?:{heads})", re.IGNORECASE)


def _decode(text: str, start: int) -> tuple[dict[str, Any] | None, int]:  # Any: JSON from a model
    """Return the JSON object that starts at a brace and where it ends; without one, how far it
    could be read.
    """
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
        parsed, length = decoder.raw_decode(text[start:])
    except json.JSONDecodeError as error:
        return None, start + max(1, error.pos)
    return None if refused else parsed, start + length


def _decode_text(text: str) -> dict[str, Any] | None:  # Any: JSON from a model
    """Return the JSON object that a text opens with; None where there is none, or it is too deep to
    be read.
    """
    try:
        return _decode(text, 0)[0]
    except RecursionError:
        return None


_ENDS_TEXT = r"(?=[ \t\r\n]{0,40}(?:[,:：，=}\]]|//|/\*|#|\Z)|[ \t\r]{0,40}\n[ \t\r\n]{0,40}[\"'“])"
_QUOTED = "|".join(
    rf"{opening}((?:\\[\s\S]|[^\\{closing}]|[{closing}](?!{_ENDS_TEXT}))*)[{closing}]{_ENDS_TEXT}"
    for opening, closing in (('"', '"'), ("'", "'"), ("[“”„]", "“”"), ("`", "`"))
)
_NEARLY = re.compile(
    rf"[ \t\r\n]+|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|([{{}}\[\],:：，=])|{_QUOTED}"
    r"|((?:[^ \t\r\n,:：，=\[\]{}\"'“”„`/#]|/(?![/*]))(?:[^\n,:：，\[\]{}\"“”/#]|/(?![/*]))*)"
)
"""A piece of an object that is nearly JSON: blanks or a comment, a sign, a text in quotes, a bare
word.
"""
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BARE = {
    "true": "true",
    "false": "false",
    "null": "null",
    "none": "null",
    "nan": "null",
    "undefined": "null",
}


def _decode_nearly(
    text: str, start: int
) -> tuple[dict[str, Any], int] | None:  # Any: JSON from a model
    """Read an object that is nearly JSON: comments, commas, quotes, escapes and bare words as
    people write them.
    """
    if text.startswith("{{", start):  # as templates write a brace
        inner = _decode_nearly(text, start + 1)
        return (inner[0], inner[1] + 1) if inner and text.startswith("}", inner[1]) else None
    pieces: list[str] = []
    depth, at = 0, start
    while piece := _NEARLY.match(text, at):
        at = piece.end()
        sign, *texts, bare = piece.groups()
        sign = {"：": ":", "=": ":", "，": ","}.get(sign, sign)
        last = pieces[-1] if pieces else ""
        if sign in ("}", "]"):
            depth -= 1
            if last == ",":
                pieces.pop()
        elif sign == "," == last:
            continue
        elif sign not in (",", ":"):
            value = _as_json(bare, [one for one in texts if one is not None])
            if value is None and not sign:
                if bare:
                    return None
                continue
            if last and last not in "{[,:":
                pieces.append(",")
            depth += sign in ("{", "[")
            sign = sign or value
        pieces.append(str(sign))
        if not 0 < depth < 50:
            break
    parsed = _decode_text("".join(pieces))
    return None if parsed is None or depth else (parsed, at)


def _as_json(bare: str | None, texts: Sequence[str]) -> str | None:
    """Return a bare word or a text in quotes as JSON; None where it is neither, or stands for
    something left out.
    """
    if texts:
        escaped = re.sub(
            r"\\(?:([\"\\/bfnrt]|u[0-9a-fA-F]{4})|([\s\S]))|(\")",
            lambda one: (
                f"\\{one[1]}"
                if one[1]
                else '\\"'
                if one[3]
                else one[2]
                if one[2] == "'"
                else f"\\\\{one[2]}"
            ),
            texts[0],
        )
        return f'"{escaped}"'
    word = (bare or "").rstrip(" \t\r").removeprefix("+")
    if not re.search(r"[^\W_]", word):
        return None
    if _JSON_NUMBER.fullmatch(word):
        return word
    return _BARE.get(word.lower()) or json.dumps(word)


def _choose(bodies: _Bodies, form: ReplyForm, loose: bool) -> Reading | None:
    """Return the verdict of the last object that is as complete as any other.

    Where two turns have verdicts that differ, or a repair leaves two readings, there is none.
    """
    if not bodies:
        return None
    most = max(_completeness(fields, form) for _, fields in bodies)
    complete = [(turn, fields) for turn, fields in bodies if _completeness(fields, form) == most]
    turn, last = complete[-1]
    reading = read_object(last, form, loose=loose)
    for _, fields in bodies if turn != bodies[0][0] else complete if loose else ():
        other = read_object(fields, form, loose=loose)
        if reading is None or other is None or other.score != reading.score:
            raise Unreadable(_TWO_VERDICTS)
    return reading


def _completeness(
    fields: Mapping[str, Any] | None, form: ReplyForm
) -> int:  # Any: JSON from a model
    """Count the fields that were asked for and that an object with the score has; without an object
    all of them.
    """
    return 1 + sum(
        fields is None or name in fields for name in (*form["texts"], *form["confidences"])
    )


def _asked_fields(
    body: Any,  # Any: JSON from a model
    form: ReplyForm,
    loose: bool,
    wrappers: int = 3,
) -> dict[str, Any]:
    """Return the fields of an object that were asked for; loosely, whatever their letters, or
    within wrappers.
    """
    known = (
        _with_doubles([(_plain_name(key), value) for key, value in body.items()]) if loose else body
    )
    fields: dict[str, Any] = {}  # Any: as above
    asked = (*form["scores"], *form["texts"], *form["confidences"])
    for name in asked:
        spelled = _plain_name(name) if loose and name not in body else name
        value = body.get(name, known.get(spelled, _nested(body, name) if "." in name else None))
        if value is not None or spelled in known:
            fields[name] = value
    if not loose or not wrappers or any(name in fields for name in form["scores"]):
        return fields
    values = [_called(value) for key, value in body.items() if key not in asked]
    inner: list[dict[str, Any]] = [one for one in values if isinstance(one, dict)]  # Any: as above
    if len(body) > 1:
        every = _completeness(None, form)
        inner = [one for one in inner if len(_asked_fields(one, form, False)) == every > 1]
    return _asked_fields(inner[0], form, loose, wrappers - 1) if len(inner) == 1 else fields


def _called(value: Any) -> Any:  # Any: JSON from a model
    """Return an object that stands as JSON in a text, as the arguments of a call of a tool do."""
    return _decode_text(value) if isinstance(value, str) and value.startswith("{") else value


def _plain_name(name: str) -> str:
    """Return a field's name without case, blanks and signs."""
    return re.sub(r"[\s_*-]", "", name).lower()


def _nested(body: Any, path: str) -> Any:  # Any: JSON from a model
    """Return what stands at a path such as `evaluation.score`; None where nothing does."""
    for name in path.split("."):
        try:
            body = body[name]
        except (KeyError, TypeError):  # not there, or no object
            return None
    return body


def _with_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON from a model
    """Build an object, keeping for every field that it holds twice that the two differ; `json`
    would take the last.
    """
    body = dict(pairs)
    if len(body) == len(pairs):
        return body
    for name, value in pairs:
        last = body[name]
        if not isinstance(last, _Twice) and (type(value), value) != (type(last), last):
            body[name] = _Twice(last)
    return body


def read_object(fields: dict[str, Any], form: ReplyForm, *, loose: bool = False) -> Reading | None:
    """Return the verdict of an object's fields; its texts may quote the row and are not searched
    for one.
    """
    names = [name for name in form["scores"] if name in fields]
    if isinstance(fields[names[0]], _Twice):
        raise Unreadable(
            f"the field {names[0]!r} stands more than once in the reply, with different values"
        )
    if loose:
        grades = {
            grade for name in names if (grade := _loose_grade(form, fields[name])) is not None
        }
        score = grades.pop() if len(grades) == 1 else None
    else:
        score = _grade(form, fields[names[0]])
    if score is None:
        return None
    stated = [fields[name] for name in form["confidences"] if name in fields]
    confidence = _share(stated[0]) if stated else None
    texts = [fields[name] for name in form["texts"] if name in fields]
    try:
        rationale = "\n".join(
            str(text.last if isinstance(text, _Twice) else text) for text in texts
        )
    except RecursionError:  # a text field that holds lists a thousand deep
        rationale = ""
    return Reading(score, "json", confidence, rationale, fields)


def _read_prose(text: str, form: ReplyForm, loose: bool) -> Reading | None:
    """Return the verdict of a reply in prose.

    Where a head of the prompt follows on a verdict, the model has gone on with a row of its own.
    """
    lines = text.splitlines()
    if text.startswith("```") and len(lines) > 2 and lines[-1].strip() == "```":
        text = "\n".join(lines[1:-1]).strip()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    places = _places(form)
    if loose:  # `<4>` where the prompt has written `<1 to 5>`
        text = re.sub(
            r"<([^<>/\n]{1,20})>",
            lambda one: one[1] if _value_at(places["alone"], one[1]) else one[0],
            _PICTURE.sub(r"\1 \2", text.translate(_WIDE)).rstrip("` \n"),
        )
    for head in list(_heads_pattern(form).finditer(text))[:8]:
        before = text[: head.start()].strip()
        in_place = (
            form["mark"] in ("between", "start")
            or _last(places["name"], before)
            or _value_at(places["alone"], before.rpartition("\n")[2])
        )
        reading = _prose_verdict(before, form, places, loose) if before and in_place else None
        if reading:
            rest = text[head.end() :].strip()
            again = _prose_verdict(rest, form, places, loose) if head["answerer"] else None
            if again and again.score != reading.score:
                raise Unreadable(_TWO_VERDICTS)
            return reading
    return _prose_verdict(text, form, places, loose)


def _prose_verdict(
    text: str, form: ReplyForm, places: Mapping[str, str], loose: bool
) -> Reading | None:
    """Return the verdict at the first place that has a value."""
    for parser, place, piece in _pieces(text, form, places, loose):
        if written := _value_at(places[place], piece):
            score = _grade(form, written)
            stated = _last(_CONFIDENCE, text) if parser != "mark" else None
            share = _SHARE.match(text, stated.end()) if stated else None
            confidence = _share(float(share[0])) if share else None
            return None if score is None else Reading(score, parser, confidence, text)
    return None


def _places(form: ReplyForm) -> dict[str, str]:
    """Return the patterns of a verdict's name and of the places of a value; some are for labels
    only.
    """
    value = _value_pattern(form)
    first = rf"[{_MARK}]{{0,40}}{value}"
    named = rf"{_KEY}[{_MARK}]{{0,40}}{_NAMED}{value}{_UNIT}"
    end = rf"{_MARKS}\.?{_MARKS}\Z"
    after = rf"[{_MARK}.]{{0,40}}?{_with_any_blanks(form['after'])}" if form["after"] else ""
    # words of two letters or more, which nothing opens with by chance
    worded = form["labels"] and all(re.match(r"[^\W\d_]{2}", label) for label in form["labels"])
    reason = rf"{_MARKS}[,;:–—-]" if worded else r"\)(?!.{0,400}\b\w\))"  # "c) The text says so."
    closing = (r"\s*+" if worded else r"(?!)") + first + _UNIT + end
    again = rf"(?<!\w){value}" + ("" if form["labels"] else "|[0-9]")
    why = rf"(?={_MARKS}(?:[.,;:–—(\[-]|$)|[ \t]{{0,9}}[(\[])"  # "4 (Mostly)"
    return {
        "name": _line_pattern(form),
        "first": first,
        "alone": first + _UNIT + end,
        "before its mark": first + after,
        "ends a clause": rf"{first}(?={_MARKS}(?:[.,;:!–—-]|$))",
        "before a reason": rf"{first}(?={reason})" if form["labels"] else "(?!)",
        "all of a line": named + end,
        "last clause": rf"(?>.*(?:[.!?:;–—](?=\s)|{_ARROW}|\s-(?=\s))){closing}",
        "after an arrow": rf"(?>.*(?:{_ARROW})){closing}",
        "only": rf"(?>{named}){why}(?![\s\S]*?(?:{again}))",
    }


def _value_at(place: str, text: str) -> str | None:
    """Return the value that a text has in a place."""
    match = re.match(place, text, re.IGNORECASE)
    return match[1] if match else None


def _pieces(
    text: str, form: ReplyForm, places: Mapping[str, str], loose: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield where a verdict is looked for, one after another: how that is called, the place, and
    the piece of text.

    Where the prompt's mark or the name of a verdict stands, nothing else counts. A model that was
    asked to start with its verdict may reason first: then its last line opens with it. Where all
    the reply is one line, a label may open it. Where the last line has none, a first paragraph
    counts that is a value alone.
    """
    mark, after = form["mark"], form["after"]
    marked = _after_mark(text, form, loose) if mark == "between" else None
    if marked is not None:
        yield "mark", "before its mark", marked
        if loose or not after:
            end = _sloppy(after) if after else "\n"
            within = re.split(end, marked, maxsplit=1, flags=re.IGNORECASE)[0]
            yield "mark", "only" if loose else "after an arrow", within.strip()
        return
    if name := _last(places["name"], text):
        yield "last", *_rest_of_line(text, name.end())
        return
    lines = text.strip().splitlines()
    if lines and mark in ("start", "last line"):
        if mark == "start":
            yield "mark", "first", lines[0]
            yield "mark", "ends a clause", lines[-1]
        elif len(lines) == 1:
            yield "mark", "before a reason", lines[0]
        yield "mark", "all of a line", lines[-1]
        yield "mark", "last clause", lines[-1]
        if len(lines) > 1 and not lines[1].strip():
            yield "mark", "alone", lines[0]
    if sentence := _last(_SENTENCE, text):
        yield "sentence", *_rest_of_line(text, sentence.end())
        return
    yield "whole", "alone", text
    line = text.rpartition("\n")[2]
    ending = re.match(places["all of a line"], line, re.IGNORECASE)
    # A number without a name or a unit may count anything, and so may one that ends a sentence.
    named = form["labels"] or re.search(r"[^\W\d_]|[/／★]", line)
    if ending and named and len(line[: ending.start(1)].split()) <= 3:
        yield "last", "all of a line", line
    yield "last", "after an arrow", line.strip()


def _after_mark(text: str, form: ReplyForm, loose: bool) -> str | None:
    """Return what follows on the prompt's own mark, loosely on one that is nearly it."""
    mark = _with_any_blanks(form["before"])
    found = _last(rf"(?<!\w){mark}" if form["before"][0].isalnum() else mark, text)
    if found is None and loose:
        found = _last(_sloppy(form["before"]), text)
    return text[found.end() :] if found else None


def _rest_of_line(text: str, at: int) -> tuple[str, str]:
    """Return the place and the rest of a line; of an empty rest, the next line, which is nothing
    but a value.
    """
    rest = text[at:].partition("\n")[0]
    if rest.strip(" \t*_`"):
        return "first", " ".join(rest.split())
    return "alone", text[at + len(rest) :].lstrip().partition("\n")[0]


def _sloppy(mark: str) -> str:
    """Return the pattern of a mark in other brackets, or with the scale in brackets or another sign
    at its end.
    """
    name = _with_any_blanks(mark.strip("[](){}<>*:： "))
    if mark.endswith((":", "：")):
        return rf"{name}(?:\s*[(\[][^()\[\]\n]{{0,40}}[)\]])?(?:[ \t*_]{{0,9}}[:：=–—-]|[】\]])"
    return rf"[\[(<{{*【]{{1,4}}{name}[\])>}}*】]{{1,4}}[:：]?"


def _with_any_blanks(mark: str) -> str:
    """Return the pattern of one side of a mark; there may be a blank before its colon, as in
    French.
    """
    pattern = r"\s+".join(map(re.escape, re.sub(r"\s*[:=]$", "", mark).split()))
    return (
        rf"{pattern}\s*[:：]"
        if mark.endswith(":")
        else rf"{pattern}\s*="
        if mark.endswith("=")
        else pattern
    )


def _last(pattern: str, text: str) -> re.Match[str] | None:
    """Return where a pattern stands for the last time."""
    matches = list(re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE))
    return matches[-1] if matches else None


def _line_pattern(form: ReplyForm) -> str:
    """Return the pattern of a line that opens with the name of a verdict and a colon or equals
    sign.
    """
    taken = (*form["texts"], *form["confidences"])
    words = dict.fromkeys((*form["scores"], *(w for w in SCORE_WORDS if w not in taken)))
    named = "|".join(
        re.escape(w).replace("_", "[ _]") for w in sorted(words, key=len, reverse=True)
    )
    gap = r"[ \t\"'*_`\])”’»]{0,40}+(?:[(\[][^()\[\]\n]{0,40}[)\]][ \t*_]{0,9})?+"
    return rf"{_LINE_HEAD}(?:{named}){gap}[:=：]"


def _value_pattern(form: ReplyForm) -> str:
    """Return a pattern with one group for a value of the scale that is not part of a word, number,
    range or choice.
    """
    labels = form["labels"] if form["kind"] != "probability" else ()
    plain = ("yes", "no", "true", "false", "1", "0") if form["kind"] == "binary" else ()
    spaced = [" ".join(label.split()) for label in labels]
    bare = [label.translate(_ACCENTS) for label in spaced]
    words = sorted(dict.fromkeys((*spaced, *bare, *plain)), key=len, reverse=True)
    value = "|".join(map(re.escape, words)) or _NUMBER
    end = (
        r"(?!_{0,8}[^\W_]|[-+>=&^~°]|<(?!/?[a-z])|\.[0-9]"
        rf"|{_MARKS}(?:[?？/／…→]|\\?[%‰％]|\.\.|[-=]>|[-–—−~]{{1,3}}\s?[0-9]|[,;]\s?[0-9]|[,;]?\s?(?:to|or)\b"
        rf"|(?:of|out\sof|through|until|versus|vs|per\s?cent)\b|(?:and\s|[|]\s?)(?:a\shalf|{value})\b))"
    )
    percent = rf"(?:\s?{_PERCENT})?+" if _of_hundred(form) else ""
    if words:
        # "no evidence", "I think", "A bit" open a phrase, unless the word after them gives a reason
        alone = r"(?!\s(?!(?:because|since|as)\b)[^\W\d_])"
        phrase = {w for w in words if w.lower() == "no" or (len(w) == 1 and w.isalpha())}
        parts = [_however_apart(word) + (alone if word in phrase else "") for word in words]
        top = ""
        if labels and all(re.fullmatch(_NUMBER, label) for label in labels):
            highest = max(labels, key=lambda label: float(label.replace(",", ".")))
            top = rf"(?:\s?/\s?{re.escape(highest)})?+"
        return rf"({'|'.join(parts)}){percent}{top}{end}"
    high = form["high"]
    top = rf"{_MARKS}(?:[/／]|(?:out\s)?of\b){_MARKS}{high}{_COUNTED}{end}"
    return rf"({_NUMBER}){percent}{_COUNTED}(?:{top}|{end})"


def _of_hundred(form: ReplyForm) -> bool:
    """Whether its grades go from 0 to 100, or from 100 to 0, so that a percent sign may stand after
    one.
    """
    labels = form["labels"]
    if not labels:
        return (form["low"], form["high"]) == (0, 100)
    return {"0", "100"} <= set(labels) and all(
        re.fullmatch(r"[0-9]{1,2}|100", label) for label in labels
    )


def _however_apart(word: str) -> str:
    """Return the pattern of a label whose parts stand together, apart, or with a hyphen: `SEV2` or
    `SEV 2`.
    """
    pieces = re.split(r"[ _-]|(?<=[^\W\d_])(?=[0-9])", word)
    return r"[ _-]?".join(map(re.escape, pieces)) if all(pieces) else re.escape(word)


def _together(label: str) -> str:
    """Return a label without what stands between its parts."""
    return re.sub(r"[ _-]", "", label)


def _grade(form: ReplyForm, value: Any) -> float | None:  # Any: JSON from a model
    """Return the grade that a value is; None where it is none."""
    kind, labels = form["kind"], form["labels"]
    if isinstance(value, str):
        word = value.strip()
        if _of_hundred(form):
            word = re.sub(rf"\s?{_PERCENT}$", "", word, flags=re.IGNORECASE)
        folded, name = [label.casefold() for label in labels], word.casefold()
        bare = [label.translate(_ACCENTS) for label in folded]
        joined = [_together(label) for label in folded]
        spellings = ((folded, name), (labels, word), (bare, name), (joined, _together(name)))
        for names, spelled in spellings:
            if spelled and names.count(spelled) == 1:
                return float(names.index(spelled))
        if kind == "choice" or (kind == "graded" and labels):
            return None
        if kind == "binary":
            plain = word.lower()
            return (
                _plain(plain in WORDS_FOR_ONE, labels)
                if plain in WORDS_FOR_ONE | WORDS_FOR_ZERO
                else None
            )
        return float(word.replace(",", ".")) if re.fullmatch(_NUMBER, word) else None
    if isinstance(value, bool):
        return _plain(value, labels) if kind == "binary" else None
    if kind == "binary" and labels and value in (0, 1):
        return _plain(value == 1, labels)
    if isinstance(value, int | float) and math.isfinite(value) and kind != "choice":
        if kind == "graded" and labels:  # grades named 0, 0.5 and 1
            name = f"{value:g}"
            return float(labels.index(name)) if name in labels else None
        return float(value)
    return None


def _loose_grade(form: ReplyForm, value: Any) -> float | None:  # Any: JSON from a model
    """Return the grade of a value that is nearly one: `"0/3"`, `"4 (Mostly)"`, `{"value": 0}`,
    `[3]`.
    """
    grade = _grade(form, value)
    if grade is not None:
        return grade
    values = cast("list[Any]", value) if isinstance(value, list) else []  # Any: JSON from a model
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)  # Any: as above
        values = [
            inner for name, inner in fields.items() if name.lower() in ("value", *SCORE_WORDS)
        ]
    if len(values) == 1:
        return _grade(form, values[0])
    written = (
        _value_at(_places(form)["only"], value.translate(_WIDE).strip())
        if isinstance(value, str)
        else None
    )
    return _grade(form, written) if written else None


def _plain(yes: bool, labels: Sequence[str]) -> float:
    """Return the place of a label that says the same as yes or no; without one yes is 1."""
    same = WORDS_FOR_ONE if yes else WORDS_FOR_ZERO
    return float(next((place for place, label in enumerate(labels) if label.lower() in same), yes))


def _share(value: Any) -> float | None:  # Any: JSON from a model
    """Read a stated confidence in [0, 1]; anything else counts as not stated."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    return None
