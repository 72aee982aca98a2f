"""Read a verdict out of a reply's text, with Python's standard library alone.

Judgewright reads replies with this file, and a Python export carries it as it stands: no tool reads a reply in another
way. `runs/exports/reply_reading.mjs` is the same in JavaScript; both pass `tests/runs/exports/test_reply_reading.py`.

JSON decides first: the last top-level object with the form's score field, and then nothing around it is read.
In prose the last line that names a verdict decides, because a reply may quote the row, the scale or its own draft
before it decides. Where the deciding place is not readable, nothing else is tried.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

# What follows goes into each Python export.
MAX_REPLY = 1 << 20
"""Characters; a longer reply is not read."""
MAX_OBJECTS = 200
"""Opening braces at which a JSON object is tried; a reply with more of them has no last one that we know."""

FINISHES: Mapping[str, str] = {
    **dict.fromkeys(("", "stop", "stop_sequence", "stop_sequences", "eos", "eos_token", "endoftext"), "stop"),
    **dict.fromkeys(("end_turn", "end_of_turn", "complete", "completed", "done", "finish", "finished"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "max_length", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "content_filtered", "safety", "recitation", "blocklist"), "content_filter"),
    **dict.fromkeys(("prohibited_content", "spii", "refusal", "sensitive", "error_toxic"), "content_filter"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), "tool_calls"),
}
"""What endpoints call the end of a reply, and which of four ends it is: OpenAI, Azure, vLLM, TGI,
llama.cpp, Gemini, Mistral, Cohere, Anthropic and the gateways before them."""

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
_NUMBER = (
    r"-?(?:[0-9]{1,9}+(?:\.[0-9]{1,9}+|,[0-9]{1,2}+(?![0-9]))?+|\.[0-9]{1,9}+)"  # a comma in German; 1,000 is none
)
_PERCENT = r"(?:[%％]|per\s?cent\b)"
_ACCENTS = str.maketrans("áàâéèêëíìîïóòôúùûñç", "aaaeeeeiiiiooouuunc")
_KEY = (
    rf"(?:(?![^\n:]{{0,40}}(?:confidence|konfidenz))[#>+ \t-]{{0,8}}+{_MARKS}[^\W\d_](?:[\w ]{{0,40}}{_MARKS}[:：=]"
    rf"|\w{{0,20}}(?:[ \t]\w{{1,20}})?{_MARKS}(?:[-=]>|→|[ \t][–—-][ \t])))?"
)
_NAMED = r"(?:(?:level|grade|score|rating|stufe|note|nota|points?|punkte|marks?)[ \t]{1,3})?"
_UNIT = r"(?:[ \t]{0,3}(?:stars?|points?|marks?|sterne?|punkte?|estrellas?|★{1,9}+))?+"
_COUNTED = r"(?:[分点점](?!\w))?+"
"""What Chinese, Japanese and Korean write after a number of points, without a blank."""
_ARROW = r"[-=]>|[→⇒]"
_STOP = rf"(?={_MARKS}(?:[.,;:!–—-]|$))"


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
    """The fields of the object that may hold the grade, the first that is there; `a.b` is the field `b` of `a`."""
    texts: Sequence[str]
    confidences: Sequence[str]
    mark: str
    """Of a reply in prose: empty, `start`, `last line`, or `between` the two texts that follow."""
    before: str
    after: str


@dataclass(slots=True)
class Reading:
    """What a reply says."""

    score: float
    parser: str
    """Where it stood: `json`, `mark`, `last` line, `sentence` or the `whole` text."""
    confidence: float | None = None
    rationale: str = ""


class Unreadable(ValueError):
    """A reply has no verdict that can be relied on; such a row has no score, which is not a zero.

    Args:
        message: Why.
        reason: What stands in the way.
    """

    def __init__(self, message: str, reason: Literal["parse", "truncated", "refused", "endpoint"] = "parse") -> None:
        super().__init__(message)
        self.reason: Literal["parse", "truncated", "refused", "endpoint"] = reason


@dataclass(slots=True)
class _Twice:
    """The values of a field that stands more than once in an object, with different values."""

    last: Any  # Any: JSON from a model


@dataclass(slots=True)
class FoundObjects:
    """The last top-level object with a score field, and whether there is any object, a broken one after it, or more."""

    body: dict[str, Any] | None  # Any: JSON from a model
    some: bool
    broken: bool
    cut: bool = False


def plain_finish(reason: str) -> str:
    """Return `stop`, `length`, `content_filter` or `tool_calls`; of any other word the word itself, in lower case."""
    word = reason.strip().lower()
    return FINISHES.get(word, word[:40])


def require_whole(finish_reason: str, refusal: str | None = None) -> None:
    """Raise `Unreadable` unless a reply is a complete answer in its text.

    A verdict in the arguments of a tool that nobody offered is not read, and a reply that ended in a way we do not know
    may be a piece of one: neither counts, and both say so.
    """
    ending = plain_finish(finish_reason)
    if refusal or ending == "content_filter":
        raise Unreadable((refusal or "content filter")[:200], "refused")
    if ending == "length":
        raise Unreadable("the reply was cut off at its limit of tokens", "truncated")
    if ending == "tool_calls":
        raise Unreadable("the reply calls a tool instead of answering in its text; none was offered")
    if ending != "stop":
        raise Unreadable(f"the reply ended by {ending!r}, which does not say that it is whole", "endpoint")


def read_text(text: str, form: ReplyForm) -> Reading:
    """Return the verdict of a whole reply; raises `Unreadable` where it has none on the scale."""
    if len(text) > MAX_REPLY:
        raise Unreadable(f"a reply of {len(text):,} characters is not read")
    text = without_thinking(text)
    form = _with_marked_field(text, form)
    objects, reading = find_objects(text, form["scores"]), None
    unsure = objects.cut or (objects.broken and form["json"])
    if objects.body is not None and not unsure:
        reading = read_object(objects.body, form)
    in_prose = objects.body is None and not objects.some
    # Braces where JSON was asked for are a broken object, and are not read as prose.
    if in_prose and not (form["json"] and ("{" in text or "}" in text)):
        reading = _read_prose(text, form)
    return on_scale(reading, text, form)


def _with_marked_field(text: str, form: ReplyForm) -> ReplyForm:
    """Return a form in prose with a field named as its mark, where an object is all of the reply.

    So `{"verdict": "PASS"}` is read for the mark `Verdict: ...`. One among other words may be a quotation.
    """
    words = re.findall(r"[^\W\d_]\w*", form["before"])
    if form["json"] or not words or not re.fullmatch(r"(?:```[a-z]*[ \r\n]*)?\{[\s\S]*\}(?:[ \r\n]*```)?", text):
        return form
    name = "_".join(words)
    return {**form, "scores": [name, name.lower(), *form["scores"]]}


def on_scale(reading: Reading | None, text: str, form: ReplyForm) -> Reading:
    """Return a verdict of a text; raises `Unreadable` where there is none, or one that is not on the scale."""
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


def find_objects(text: str, names: Sequence[str]) -> FoundObjects:
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
            return FoundObjects(body, some, broken)
        depth = max(0, depth + opened(at, start))
        refused.clear()
        try:
            parsed, length = decoder.raw_decode(text[start:])  # a slice: an error counts the line breaks before it
        except json.JSONDecodeError as error:
            parsed, length = None, max(1, error.pos)
            depth = max(0, depth + opened(start, start + length))
        except RecursionError:
            return FoundObjects(body, some, broken, cut=True)
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
    return FoundObjects(body, some, broken, cut=text.find("{", at) >= 0)


def _nested(body: Any, path: str) -> Any:  # Any: JSON from a model
    """Return what stands at a path such as `evaluation.score`; None where nothing does."""
    for name in path.split("."):
        try:
            body = body[name]
        except (KeyError, TypeError):  # not there, or no object
            return None
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


def read_object(body: dict[str, Any], form: ReplyForm) -> Reading | None:  # Any: JSON from a model
    """Return the verdict of a JSON object; its texts may quote the row and are not searched for one."""
    name = next(name for name in form["scores"] if name in body)
    if isinstance(body[name], _Twice):
        raise Unreadable(f"the field {name!r} stands more than once in the reply, with different values")
    score = _grade(form, body[name])
    if score is None:
        return None
    confidence = None
    for field in form["confidences"]:
        if field in body:
            confidence = _share(body[field])
            break
    try:
        found = ((f, body[f] if f in body else _nested(body, f)) for f in form["texts"])
        texts = [text for f, text in found if f in body or text is not None]
        rationale = "\n".join(str(text.last if isinstance(text, _Twice) else text) for text in texts)
    except RecursionError:  # a text field that holds lists a thousand deep
        rationale = ""
    return Reading(score, "json", confidence, rationale)


def _read_prose(text: str, form: ReplyForm) -> Reading | None:
    """Return the verdict of a prose reply: its last verdict line, else its last sentence with one, else all of it."""
    lines = text.splitlines()
    if text.startswith("```") and len(lines) > 2 and lines[-1].strip() == "```":
        text = "\n".join(lines[1:-1]).strip()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    value = _value_pattern(form)
    if form["mark"] and (written := _marked(form, value, text)) is not None:
        score = _grade(form, written) if written else None
        return None if score is None else Reading(score, "mark", None, text)
    if line := _last(_line_pattern(form), text):
        written, parser = _value_after(value, text, line.end()), "last"
    elif sentence := _last(_SENTENCE, text):
        written, parser = _value_after(value, text, sentence.end()), "sentence"
    elif (written := _only_value(value, text)) is not None:
        parser = "whole"
    else:
        line = text.rpartition("\n")[2]
        written, parser = _closing(value, line, bare=bool(form["labels"])), "last"
        if written is None and _worded(form):
            written = _after_arrow(value, line)
    score = None if written is None else _grade(form, written)
    if score is None:
        return None
    confidence = None
    if (stated := _last(_CONFIDENCE, text)) and (share := _SHARE.match(text, stated.end())):
        confidence = _share(float(share.group()))
    return Reading(score, parser, confidence, text)


def _marked(form: ReplyForm, value: str, text: str) -> str | None:
    """Return the value at the prompt's own mark, empty where none can be read there; None where the mark is missing."""
    if form["mark"] != "between":
        if _last(_line_pattern(form), text):
            return None  # a line with the name of a verdict says more than its place
        lines = text.strip().splitlines()
        return _at_place(form["mark"], value, lines, form) if lines else None
    before, after = (_with_any_blanks(side) for side in (form["before"], form["after"]))
    mark = _last(re.compile(rf"(?<!\w){before}" if form["before"][0].isalnum() else before, re.IGNORECASE), text)
    if mark is None:
        return None
    closed = rf"[{_MARK}.]{{0,40}}?{after}" if after else ""
    match = re.compile(rf"[{_MARK}]{{0,40}}{value}{closed}", re.IGNORECASE).match(text, mark.end())
    if match:
        return match.group(1)
    line = text[mark.end() :].partition("\n")[0]
    return (_worded(form) and not after and _after_arrow(value, line)) or ""


def _at_place(place: str, value: str, lines: Sequence[str], form: ReplyForm) -> str | None:
    """Return the value that stands on the last line, perhaps after a word and a colon, or at the start.

    A model that was asked to start with its verdict may reason first: then its last line opens with it. Where all the
    reply is one line, a label may open it, with the reason after a comma or a dash. Where the last line has none, a
    first paragraph counts that is a value alone.
    """
    if place == "start":
        match = re.match(rf"[{_MARK}]{{0,40}}{value}", lines[0], re.IGNORECASE)
        match = match or re.match(rf"[{_MARK}]{{0,40}}{value}{_STOP}", lines[-1], re.IGNORECASE)
        if match:
            return match.group(1)
    worded = _worded(form)
    if place == "last line" and len(lines) == 1 and form["labels"]:
        after = rf"{_MARKS}[,;:–—-]" if worded else r"\)(?!.{0,400}\b\w\))"  # "c) The text says so."
        match = re.match(rf"[{_MARK}]{{0,40}}{value}(?={after})", lines[0], re.IGNORECASE)
        if match:
            return match.group(1)
    match = re.fullmatch(rf"{_KEY}[{_MARK}]{{0,40}}{_NAMED}{value}{_UNIT}{_MARKS}\.?{_MARKS}", lines[-1], re.IGNORECASE)
    if match is None and worded:  # the last sentence of the last line is nothing but a label
        last = re.split(rf"[.!?:;–—](?=\s)|{_ARROW}|\s-(?=\s)", lines[-1].rstrip())[-1]
        match = re.fullmatch(rf"[{_MARK}]{{0,40}}{value}{_MARKS}\.?{_MARKS}", last, re.IGNORECASE)
    if match is None and len(lines) > 1 and not lines[1].strip():  # a first line that is nothing but the value
        return _only_value(value, lines[0])
    return match.group(1) if match else None


def _after_arrow(value: str, line: str) -> str | None:
    """Return the value that ends a line after an arrow, as in `reason -> PASS`."""
    *before, last = re.split(_ARROW, line)
    return _only_value(value, last.strip()) if before else None


def _worded(form: ReplyForm) -> bool:
    """Whether all its labels are words of two letters or more, which nothing opens with by chance."""
    return bool(form["labels"]) and all(re.match(r"[^\W\d_]{2}", label) for label in form["labels"])


def _with_any_blanks(mark: str) -> str:
    """Return the pattern of one side of a mark; there may be a blank before its colon, as in French."""
    pattern = r"\s+".join(map(re.escape, re.sub(r"\s*[:=]$", "", mark).split()))
    return rf"{pattern}\s*[:：]" if mark.endswith(":") else rf"{pattern}\s*=" if mark.endswith("=") else pattern


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


def _line_pattern(form: ReplyForm) -> re.Pattern[str]:
    """Return the pattern of a line that opens with the name of a verdict and a colon or equals sign."""
    taken = (*form["texts"], *form["confidences"])
    words = dict.fromkeys((*form["scores"], *(w for w in _SCORE_WORDS if w not in taken)))
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
    match = re.fullmatch(rf"[{_MARK}]{{0,40}}{value}{_UNIT}{_MARKS}\.?{_MARKS}", text, re.IGNORECASE)
    return match.group(1) if match else None


def _closing(value: str, line: str, *, bare: bool) -> str | None:
    """Return the value that the last line is, perhaps after a name and a colon, an arrow or a dash.

    A number without a name or a unit may count anything, so only a label stands there `bare`.
    """
    match = re.fullmatch(rf"{_KEY}[{_MARK}]{{0,40}}{_NAMED}{value}{_UNIT}{_MARKS}\.?{_MARKS}", line, re.IGNORECASE)
    if match is None or not (bare or re.search(r"[^\W\d_]|[/／★]", line)):
        return None
    if len(line[: match.start(1)].split()) > 3:
        return None  # a sentence, which may be on anything
    return match.group(1)


def _value_pattern(form: ReplyForm) -> str:
    """Return a pattern with one group for a value of the scale that is not part of a word, number, range or choice."""
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
        numbers = [label for label in labels if re.fullmatch(_NUMBER, label)]
        top = (
            rf"(?:\s?/\s?{re.escape(max(numbers, key=lambda number: float(number.replace(',', '.'))))})?+"
            if len(numbers) == len(labels) > 0
            else ""
        )
        return rf"({'|'.join(parts)}){percent}{top}{end}"
    high = form["high"]
    top = rf"{_MARKS}(?:[/／]|(?:out\s)?of\b){_MARKS}{high}{_COUNTED}{end}"
    return rf"({_NUMBER}){percent}{_COUNTED}(?:{top}|{end})"


def _of_hundred(form: ReplyForm) -> bool:
    """Whether its grades go from 0 to 100, or from 100 to 0, so that a percent sign may stand after one."""
    labels = form["labels"]
    if not labels:
        return (form["low"], form["high"]) == (0, 100)
    return {"0", "100"} <= set(labels) and all(re.fullmatch(r"[0-9]{1,2}|100", label) for label in labels)


def _however_apart(word: str) -> str:
    """Return the pattern of a label whose parts stand together, apart, or with a hyphen: `SEV2` or `SEV 2`."""
    pieces = re.split(r"[ _-]|(?<=[^\W\d_])(?=[0-9])", word)
    return r"[ _-]?".join(map(re.escape, pieces)) if all(pieces) else re.escape(word)


def _together(label: str) -> str:
    return re.sub(r"[ _-]", "", label)


def _grade(form: ReplyForm, value: Any) -> float | None:  # Any: JSON from a model
    kind, labels = form["kind"], form["labels"]
    if isinstance(value, str):
        word = value.strip()
        if _of_hundred(form):
            word = re.sub(rf"\s?{_PERCENT}$", "", word, flags=re.IGNORECASE)
        folded = [label.casefold() for label in labels]
        if word.casefold() in folded and folded.count(word.casefold()) == 1:
            return float(folded.index(word.casefold()))
        if word in labels:
            return float(labels.index(word))
        bare = [label.translate(_ACCENTS) for label in folded]
        if bare.count(word.casefold()) == 1:
            return float(bare.index(word.casefold()))
        joined = [_together(label) for label in folded]
        if joined.count(_together(word.casefold())) == 1 and _together(word):
            return float(joined.index(_together(word.casefold())))
        if kind == "choice" or (kind == "graded" and labels):
            return None
        if kind == "binary":
            plain = word.lower()
            return _plain(plain in WORDS_FOR_ONE, labels) if plain in WORDS_FOR_ONE | WORDS_FOR_ZERO else None
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


def _plain(yes: bool, labels: Sequence[str]) -> float:
    """Return the place of a label that says the same as yes or no; without one yes is 1."""
    same = WORDS_FOR_ONE if yes else WORDS_FOR_ZERO
    return float(next((place for place, label in enumerate(labels) if label.lower() in same), yes))


def _share(value: Any) -> float | None:  # Any: JSON from a model
    """Read a stated confidence in [0, 1]; anything else counts as not stated."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    return None
