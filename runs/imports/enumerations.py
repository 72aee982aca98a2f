"""Lists of short words in a text, found by their form alone: what a scale of labels looks like in
any language.

Each form is a way in which people write down what may be chosen: words in marks or capitals one
after the other, a list after a colon or in brackets, lines that explain one word each, the same
frame with another word in it, and clauses that give each word its condition. Which of the lists is
the scale is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from .prompt_words import pattern_of

Form = Literal[
    "framed",
    "marked",
    "capitals",
    "enclosed",
    "listed",
    "conditions",
    "lines",
    "headed",
    "slashed",
    "bare",
]
MOST_LABELS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    """Words that stand in one list."""

    items: tuple[str, ...]
    form: Form
    start: int = 0
    key: str = ""
    """What stands before each of them in the answer, with its colon: `Verdict:`."""
    marked: bool = False
    """Whether each stands in quotes, backticks, bold or capitals."""

    @property
    def folded(self) -> frozenset[str]:
        """The words in small letters, without their order."""
        return frozenset(fold(item) for item in self.items)


def fold(label: str) -> str:
    """Return a label as it is compared with others."""
    return label.casefold().replace("_", " ").replace("-", " ")


_UP = "A-ZÀ-ÖØ-ÞĀ-ŽА-Я"
_SYMBOL = r"[\u2190-\u2bff\U0001f000-\U0001faff][\ufe0f\u200d]?"
_WORD = rf"(?:[^\W_][\w+'’-]*(?:/a)?|{_SYMBOL})"
_PHRASE = rf"{_WORD}(?: {_WORD}){{0,3}}?"
_CAPS = rf"[{_UP}][{_UP}0-9_+-]+(?: [{_UP}0-9][{_UP}0-9_+-]+){{0,2}}"
_OPEN, _CLOSE = r"[\"'`“”„‘’«*_]{0,3}", r"[\"'`“”‘’»*_]{0,3}"
_GLOSS = r"(?: ?\([^()\n]{1,60}\)| ?= ?[^\W\d][^,;|/()\n.]{0,40})?"
_ORS = pattern_of("or")
_SEP = rf"(?:\s*(?:,?\s*\b(?:{_ORS})\b|[,/|;、])\s*|\s*(?:または|もしくは|或者|或|还是)\s*)"
OR = re.compile(_SEP)
_IN_MARKS = re.compile(
    r"\"([^\"“”„\n]{1,40})\"|[“„]([^\"“”„\n]{1,40})[”“\"]|`([^`\n]{1,40})`|\*\*([^*\n]{1,40})\*\*|«\s?([^»\n]{1,40}?)\s?»"
    r"|(?<!\w)'([^'\n]{1,40})'(?!\w)|‘([^’\n]{1,40})’|(?<![*\w])\*([^*\s\n][^*\n]{0,38})\*(?![*\w])"
)
_GAP = re.compile(rf"[^\"“”„`*«»\n]{{0,90}}?{_SEP}|{_GLOSS}{_SEP}|\s+[^\W\d_]{{1,5}}\s+")
_CAPITALS = re.compile(
    rf"(?<![\w{_UP}]){_OPEN}{_CAPS}{_CLOSE}{_GLOSS}(?:{_SEP}{_OPEN}{_CAPS}{_CLOSE}{_GLOSS})+(?!\w|["
    r" _]?[:=])"
)
_LETTER = rf"[{_UP}]{_CLOSE}{_GLOSS}(?!\w)"
_LETTERS = re.compile(rf"(?<![\w'’]){_OPEN}{_LETTER}(?:{_SEP}{_OPEN}{_LETTER})+")
_SYMBOLS = re.compile(rf"{_OPEN}{_SYMBOL}{_CLOSE}(?:{_SEP}{_OPEN}{_SYMBOL}{_CLOSE})+")
_YES_OR_NO = re.compile(
    rf"\b(?:(?:{pattern_of('yes')}){_CLOSE}{_SEP}{_OPEN}(?:{pattern_of('no')})"
    rf"|(?:{pattern_of('no')}){_CLOSE}{_SEP}{_OPEN}(?:{pattern_of('yes')}))\b(?!{_CLOSE}\s?[/|,]{{1}}\s?[^\W\d_]+\s?[)/|>\]])",
    re.IGNORECASE,
)
_LIST = rf"{_OPEN}{_PHRASE}{_CLOSE}{_GLOSS}(?:{_SEP}{_OPEN}{_PHRASE}{_CLOSE}{_GLOSS})+"
_ENCLOSED = re.compile(
    rf"(?<!\w)(?P<open>[<(\[\"'`“{{])\s*(?P<list>{_LIST})\s*(?P<close>[>)\]\"'`”}}])(?!\w)"
)
_END = (
    r"(?=\s*(?:[.;,?!\n>)\]\"'|]|$|(?:and|und|et|y)"
    r" (?:nothing|nichts|rien|nada)\b|\b(?:only|nur)\b| [–—(-]))"
)
_AFTER_COLON = re.compile(rf":[*_]*[ \t]*(?P<list>{_LIST}){_END}")
_AFTER_LEAD = re.compile(rf"\b(?:{pattern_of('lead')}):?\s+(?P<list>{_LIST}){_END}", re.IGNORECASE)
_AFTER_VERB = re.compile(
    r"(?:^|[.!?:,;]\s)(?:\w+"
    rf" )?\b\w+\s(?P<list>{_OPEN}{_WORD}{_CLOSE}(?:{_SEP}{_OPEN}{_WORD}{_CLOSE})+){_END}",
    re.M,
)
_SLASHED = re.compile(
    rf"(?<![\w/.])(?P<list>{_OPEN}{_PHRASE}{_CLOSE}(?:\s?[|/]\s?{_OPEN}{_PHRASE}{_CLOSE})+){_END}"
)
_KEY = rf"(?P<key>(?!(?:{_ORS})\s)[^\W\d_][\w-]*(?: [\w-]+){{0,2}} ?"
_CLAUSE_ENDS = rf"(?={_CLOSE}[ \t]*(?:[.,;)\]\n]|$|(?<=[ \t])[ \t]|\b(?:{_ORS})\b))"
_FRAME = re.compile(rf"{_KEY}:) ?{_OPEN}(?P<value>{_PHRASE}){_CLAUSE_ENDS}")
_EQUATED = re.compile(
    rf"{_KEY}=(?!=)) ?{_OPEN}(?P<value>{_PHRASE})(?={_CLOSE}[ \t]*:|{_CLAUSE_ENDS[3:]}"
)
TAGGED = re.compile(r"<([A-Za-z][\w-]*)>\s*([^<>\n]{0,60}?)\s*</\1>")
BRACKETS = re.compile(r"\[\[\s*([^\[\]\n#]{1,30}?)\s*\]\]")
_IFS, _ELSE = pattern_of("if"), pattern_of("otherwise")
_CONDITION = re.compile(
    rf"(?:^|[.;,:!?]|\b(?:{_ORS})(?=\s))[ \t]*(?:[-*•] )?"
    rf"(?P<clause>{_OPEN}{_WORD}{_CLOSE}(?: {_OPEN}{_WORD}{_CLOSE}){{0,9}}?),?\s(?:only"
    rf" )?(?:{_IFS})\b",
    re.IGNORECASE | re.MULTILINE,
)
_OTHERWISE = re.compile(rf"\b(?:{_ELSE}),?:?[ \t](?P<clause>[^.;,\n)]{{1,60}})", re.IGNORECASE)
_JOINS = rf"(?:{_ORS}|and|und|et|y|but|aber|mais|pero)"
_AND_OTHERWISE = re.compile(
    rf"(?:[,;][ \t](?:{_JOINS}[ \t])?|[ \t]{_JOINS}[ \t])(?!{_JOINS}\b)"
    rf"(?P<clause>{_OPEN}{_WORD}{_CLOSE}(?=[ \t](?i:{_ELSE})\b)"
    rf"|(?:[\"'`“„]{_WORD}[\"'`”“]|{_CAPS}|[{_UP}])(?=[ \t](?i:{_IFS})\b))"
)
"""What stands before an "otherwise", or a second "if", that ends a clause: `, FALSE otherwise`."""
_INSTANCES = re.compile(rf"(?:{pattern_of('instances')})[,:]?[ \t]*$", re.IGNORECASE)
"""What leads to words that are examples and no labels."""
_UP_TO_ASKS = re.compile(
    rf"^.*\b(?:{pattern_of('asks')}|{pattern_of('lead')}|it):?\s(?=\S)", re.IGNORECASE
)
_IF_WORD = re.compile(rf"\b(?:{_IFS}|{_ELSE})\b", re.IGNORECASE)
_DIRECTED = re.compile(
    rf"\b(?i:{pattern_of('asks')})(?i:\s(?:{pattern_of('lead')}))?:?\s(?:[\"'`“„«]([^\"'`”“»\n]{{1,20}})[\"'`”“»]|({_CAPS}))(?![\w:])"
)
_ASKS = re.compile(
    rf"^(?:(?:{pattern_of('asks')}|{pattern_of('lead')}|{_ORS}|it)\b:? ?)+", re.IGNORECASE
)
_LEADS_TO = re.compile(
    rf"^.*\b(?:{pattern_of('leads_to')}|{pattern_of('one_of')}):?\s(?=\S)", re.IGNORECASE
)
_BULLET = r"(?:[-*•–#>]+|\d{1,2}[.)]|\|)?"
_HEAD = re.compile(
    rf"(?P<bullet>[ \t]*{_BULLET}[ \t]*)(?P<open>{_OPEN})"
    rf"(?P<head>\(?{_WORD}(?:[ -]{_WORD}){{0,4}}?\)?)(?P<close>{_CLOSE})(?P<gloss>["
    r" \t]?\([^()\n]{1,40}\))?"
    r"(?P<sep>[ \t]*(?::[*_]{0,2}|=|–|—|\||->|→|=>)[ \t]*|[ \t]+-{1,2}[ \t]+|[ \t]{2,}|\.["
    r" \t]+(?=\S)"
    rf"|[ \t]+(?:{pattern_of('means')})[ \t]+|[ \t]*$)(?P<rest>.*)$",
    re.IGNORECASE,
)

_SYMBOL_HEAD = re.compile(
    rf"(?P<bullet>[ \t]*{_BULLET}[ \t]*)(?P<open>)(?P<head>{_SYMBOL})(?P<close>)(?P<gloss>)"
    r"(?P<sep>[ \t]+)(?P<rest>\S.*)$"
)
_TO_FILL = re.compile(r"[*_\"'`]*(?:\.{3}|…|[<\[{(].*|\w{0,8}\?|_+)[*_\"'`]*\s*$")
"""What stands in the form of an answer where something is to be filled in."""


def enumerations(text: str, *, asked: bool = False) -> list[Enumeration]:
    """Return the lists of a text in the order of their forms.

    Args:
        text: The text.
        asked: Whether it asks for the answer, so that a list needs no marks to be one.
    """
    found = [
        *_framed(text),
        *_marked(text),
        *_capitals(text),
        *_conditions(text),
        *_enclosed(text),
        *_lines(text),
        *_headed(text),
    ]
    found += _bare(text, asked=asked)
    return [
        one for one in found if _may_be_labels(one) and not _INSTANCES.search(text[: one.start])
    ]


def distinct(items: Iterable[str]) -> tuple[str, ...]:
    """Return items without marks round them, each once."""
    stripped = (item.strip(" \t\n\"'`“”„‘’«»*_.<>[]()") for item in items)
    found: dict[str, str] = {}
    for item in (re.sub(rf"^{_SYMBOL} (?=\w)", "", item) for item in stripped):
        if item:
            found.setdefault(item.casefold(), item)
    return tuple(found.values())


def items_of(written: str) -> tuple[str, ...]:
    """Return the items of a list without the words round them and what is said of each in brackets
    or after a sign.
    """
    plain = re.sub(r"\([^()]*\)|(?<=[\w\"'`”]) ?= ?[^,;|/\n]*", "", written)
    return distinct(map(_plain_item, re.split(OR, plain)))


def _plain_item(item: str) -> str:
    """Return an item without the words that lead to it, and a letter without what it stands for."""
    item = re.sub(_ASKS, "", re.sub(_LEADS_TO, "", item.strip()))
    return re.sub(rf"^([{_UP}]) (?:{pattern_of('means')}|for|für|pour|para)\s.*", r"\1", item)


def _may_be_labels(one: Enumeration) -> bool:
    named = [item for item in one.items if re.search(rf"[^\W\d_]|{_SYMBOL}", item)]
    numbers = [item for item in one.items if re.search(r"(?<!\w)\d", item)]
    alike = all(re.fullmatch(r"[^\W\d_]+[ _-]?\d{1,2}", item) for item in one.items)
    plain = one.marked and all(re.fullmatch(r"\d{1,2}", item) for item in numbers)
    short = all(len(item) <= 40 for item in one.items) and (not numbers or alike or plain)
    return 2 <= len(one.items) <= MOST_LABELS and bool(named) and short


def _framed(text: str) -> Iterator[Enumeration]:
    """Yield the words that stand in the same tag, in double brackets, or after the same key."""
    tags: dict[str, list[str]] = {}
    for match in TAGGED.finditer(text):
        tags.setdefault(match[1], []).append(match[2])
    for tag, inner in tags.items():
        items = distinct(inner) if len(inner) > 1 else items_of(inner[0])
        yield Enumeration(
            items=items, form="framed", key=f"<{tag}>...</{tag}>", start=text.find(f"<{tag}>")
        )
    if brackets := [match[1] for match in BRACKETS.finditer(text)]:
        yield Enumeration(
            items=distinct(brackets), form="framed", key="[[...]]", start=text.find("[[")
        )
    frames: dict[str, list[re.Match[str]]] = {}
    for match in (*_FRAME.finditer(text), *_EQUATED.finditer(text)):
        words = match["key"].split(" ")
        for first in range(len(words)):  # "write Verdict:" and "Verdict:" are one key
            frames.setdefault(" ".join(words[first:]), []).append(match)
    for key, matches in sorted(frames.items(), key=lambda frame: -len(frame[0])):
        items = distinct(match["value"] for match in matches)
        if key.strip(" :=") and len(items) > 1:
            yield Enumeration(
                items=items, form="framed", key=f"{key} ...", start=matches[0].start()
            )


def _marked(text: str) -> Iterator[Enumeration]:
    """Yield runs of words in marks with nothing but separators, glosses or short clauses between
    them.
    """
    run: list[re.Match[str]] = []
    for match in [*_IN_MARKS.finditer(text), None]:
        alike = match is not None and (not run or match.group()[0] == run[-1].group()[0])
        if match and alike and (not run or _GAP.fullmatch(text, run[-1].end(), match.start())):
            run.append(match)
            continue
        if len(run) > 1:
            words = [next(filter(None, one.groups())) for one in run]
            keys = {word.rpartition(": ")[0] for word in words}
            key = (
                f"{keys.pop()}: ..."
                if len(keys) == 1 and all(": " in word for word in words)
                else ""
            )
            items = distinct(word.rpartition(": ")[2] if key else word for word in words)
            yield Enumeration(
                items=items,
                form="framed" if key else "marked",
                key=key,
                start=run[0].start(),
                marked=True,
            )
        run = [match] if match else []


def _capitals(text: str) -> Iterator[Enumeration]:
    for pattern in (_CAPITALS, _LETTERS, _SYMBOLS, _YES_OR_NO):
        for match in pattern.finditer(text):
            yield Enumeration(
                items=items_of(match.group()), form="capitals", start=match.start(), marked=True
            )


def offers_capitals(text: str) -> bool:
    """Whether a text offers words in capitals one after the other: `TAK lub NIE`."""
    return _CAPITALS.search(text) is not None


def _enclosed(text: str) -> Iterator[Enumeration]:
    pairs = {"<": ">", "(": ")", "[": "]", "“": "”", "{": "}"}
    for match in _ENCLOSED.finditer(text):
        if match["close"] == pairs.get(match["open"], match["open"]):
            yield Enumeration(items=items_of(match["list"]), form="enclosed", start=match.start())


def _conditions(text: str) -> Iterator[Enumeration]:
    """Yield words with a condition each: in clauses of one frame, or before an "if" and after an
    "otherwise".
    """
    if cases := [next(filter(None, match.groups())) for match in _DIRECTED.finditer(text)]:
        yield Enumeration(items=distinct(cases), form="conditions", marked=True)
    clauses = [match for match in _CONDITION.finditer(text) if not _IF_WORD.search(match["clause"])]
    frames: dict[str, list[re.Match[str]]] = {}
    for match in clauses:
        frames.setdefault(match["clause"].rpartition(" ")[0].casefold(), []).append(match)
    for frame, matches in frames.items():
        items = _labels_of(matches)
        if frame or all(item.isupper() for item in items):
            yield Enumeration(items=items, form="conditions", start=matches[0].start())
    for last in (*_OTHERWISE.finditer(text), *_AND_OTHERWISE.finditer(text)):
        before = [match for match in clauses if match.end() <= last.start() < match.end() + 250]
        for many in range(1, len(before) + 1):
            items = _labels_of([*before[-many:], last])
            yield Enumeration(items=items, form="conditions", start=before[-many].start())


def _labels_of(clauses: Sequence[re.Match[str]]) -> tuple[str, ...]:
    """Return what is left of clauses without the words that ask for it: `ready` of "say ready"."""
    clauses_alone = (distinct([match["clause"]]) for match in clauses)
    return distinct(re.sub(_UP_TO_ASKS, "", clause[0]) for clause in clauses_alone if clause)


def _lines(text: str) -> Iterator[Enumeration]:
    """Yield the heads of neighbouring lines of one shape: `- good: all is there`, `| B | one is
    wrong |`, `fair`.
    """
    lines: list[_Line] = []
    start, apart = 0, False
    for line in text.split("\n"):
        if line.strip() and not re.fullmatch(r"[ \t|:=~*-]+", line):
            match = _HEAD.match(line) or _SYMBOL_HEAD.match(line)
            match = (
                None
                if match is None or re.match(_ASKS, match["head"]) or _TO_FILL.match(match["rest"])
                else match
            )
            lines.append(_Line(start=start, match=match, apart=apart))
            apart = False
        elif "|" in line and lines:  # the line under the head of a table
            lines[-1] = _Line(start=lines[-1].start, match=None, apart=False)
        elif not line.strip():
            apart = True
        start += len(line) + 1
    for shape, run in _runs(lines):
        heads = [line.match for line in run if line.match]
        if shape is not None and len(run) > 1:
            items = _without_frame([match["head"].strip("()") for match in heads])
            alone = not shape[2].strip()
            opened = text[: run[0].start].rstrip().endswith((":", "?"))
            if not alone or opened or shape[0].strip():
                form: Form = "listed" if alone else "lines"
                yield Enumeration(
                    items=distinct(items), form=form, start=run[0].start, marked=bool(shape[1])
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line with words, as the line of a list if it can be one."""

    start: int
    match: re.Match[str] | None
    apart: bool
    """Whether a blank line stands before it."""


def _runs(lines: Sequence[_Line]) -> Iterator[tuple[tuple[str, str, str] | None, list[_Line]]]:
    """Yield neighbouring lines of one shape; a blank line parts them, unless one stands before
    each.
    """
    for shape, group in groupby(lines, key=lambda line: _shape(line.match) if line.match else None):
        run = list(group)
        if all(line.apart for line in run[1:]):
            yield shape, run
            continue
        starts = [at for at, line in enumerate(run) if line.apart and at] + [len(run)]
        for first, last in zip([0, *starts], starts, strict=False):
            yield shape, run[first:last]


def _headed(text: str) -> Iterator[Enumeration]:
    """Yield neighbouring headings of one depth with text under each, as a section on labels has
    them.
    """
    headings = [
        *re.finditer(r"(?m)^(?P<depth>#{2,6}) +[*_`\"]*(?P<head>[^\n]{1,40}?)[*_`\"]*[ \t]*$", text)
    ]
    for _, group in groupby(headings, key=lambda heading: heading["depth"]):
        run = list(group)
        yield Enumeration(
            items=distinct(heading["head"] for heading in run), form="headed", start=run[0].start()
        )


def _shape(match: re.Match[str]) -> tuple[str, str, str]:
    """Return what lines of one list have in common: bullet, marks, and what parts the head from the
    rest.
    """
    bullet = re.sub(r"\d+", "1", match["bullet"].strip())
    sep = match["sep"].strip(" \t*_") or ("." if match["rest"] else "")
    return bullet, match["open"][:1], sep.casefold() + (" " if match["rest"].strip() else "")


def _without_frame(heads: Sequence[str]) -> list[str]:
    """Return heads without the words that all of them begin with: `hoch` of `Risiko hoch`."""
    words = [head.split(" ") for head in heads]
    while all(len(word) > 1 for word in words) and len({word[0].casefold() for word in words}) == 1:
        words = [word[1:] for word in words]
    while (
        all(len(word) > 1 for word in words)
        and len({word[-1].casefold().rstrip("s") for word in words}) == 1
    ):
        words = [word[:-1] for word in words]
    return [re.sub(r" (?:only|nur)$", "", " ".join(word)) for word in words]


def _bare(text: str, *, asked: bool) -> Iterator[Enumeration]:
    """Yield lists without marks: after a colon, between slashes; where the answer is asked for,
    after a verb.
    """
    for match in _AFTER_COLON.finditer(text):
        yield Enumeration(items=items_of(match["list"]), form="enclosed", start=match.start("list"))
    for match in _SLASHED.finditer(text):
        yield Enumeration(items=items_of(match["list"]), form="slashed", start=match.start("list"))
    for pattern in (_AFTER_LEAD, _AFTER_VERB) if asked else ():
        for match in pattern.finditer(text):
            yield Enumeration(items=items_of(match["list"]), form="bare", start=match.start("list"))
