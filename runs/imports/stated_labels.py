"""The labels that a prompt's words offer for the answer, their order, and the mark beside which they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

TEXTS = re.compile(
    r"reason|expla|justif|ration|analy|comment|why|thought|thinking|evidence|critique|feedback|summary|quote"
    r"|note_|step"
    r"|begründ|begruend|erklär|erklaer|kommentar|assess|detail|issue|suggest|missing|error|descri|observ|broken|list"
    r"|because|weil|parce|porque|uitleg|spiega|source|span|razon|pensamiento|pensée|motiv|warum|hinweis|raison|explic|justif|fehler|violations|steps",
    re.IGNORECASE,
)
"""What a field of words is called."""
_NEGATION = re.compile(
    r"(?:not|nicht|non|no|kein|keine|never)[ _-]+|(?:un|in|im|ir|il|dis|on|non|nicht)(?=\w{3})", re.IGNORECASE
)
_Q = r"[\"'`“”„‘’*_]{0,3}"
_OR = r"\s*(?:,?\s*\b(?:or|oder|and|und|ou|o|oppure|et|y|bzw\.)\b|[,/|、]|または|もしくは|或者|或|还是)\s*"
_WORD = r"[^\W\d_][\w+-]*"
_CAPS = r"[A-ZÄÖÜ][A-ZÄÖÜ_-]+(?: [A-ZÄÖÜ][A-ZÄÖÜ_-]+){0,2}"
_QUOTED = r"[\"'`“„‘*]{1,3}(?:[^\"'`“”„‘’*\n:]{1,40}?: ?)?([^\"'`“”„‘’*\n:,]{1,40}?)[\"'`“”’*]{1,3}"
_QUOTED_LIST = re.compile(rf"{_QUOTED}(?:[^\"'`“”„‘’*\n]{{0,90}}?(?:{_OR}|[,;]\s|\bof\s){_QUOTED})+")
_CAPS_LIST = re.compile(rf"\b{_CAPS}{_Q}(?:{_OR}{_Q}{_CAPS})+\b")
_LETTER = rf"[A-F]{_Q}(?: ?\([^()\n]{{1,40}}\)|[:=] ?\w+| [-–=] \w+)?"
_LETTER_LIST = re.compile(rf"\b{_LETTER}(?:{_OR}{_Q}{_LETTER}(?!\w))+")
LETTER_RANGE = re.compile(
    r"\b(?:letters?|grades?|noten?|buchstaben?)\b[^.\n]{0,30}?\b(A)\b[^.\n\w]{0,3}(?:\([^()]*\) ?)?(?:to|bis|-"
    r"|–)\s?([D-F])\b",
    re.I,
)
_LETTER_GRADES = re.compile(
    r"\bletter grades?\b|\b[Gg](?:rade|RADE)s?\b[^.\n\w]{0,3}(?:\w+[^.\n\w]{1,2}){0,4}\b[A-E]\b"
    r"|\bnoten?\b[^.\n]{0,20}\bA\b"
)
_LISTED_AFTER = (
    # after these a label may have several words
    (
        r"(?:one of|(?:pick|choose|select|wähle) (?:exactly )?(?:one|eine[sn]?)"
        r"|either|the following|(?:labels?|class(?:es)?|categor(?:y|ies)|options?|words?|values?"
        r"|kategorien?|eines|entweder|parola|palabra|palavra|woord|mot)"
        r"(?: \([^()\n]*\))?)"
        r"(?: (?:these|the following|the|labels?|words?|values?|options?|classes|categories|is|are|of|von|der))*"
        r"(?:, in [\w -]+,)?:?",
        3,
    ),
    (
        r"(?:one word|the words?|answer|reply|respond|output|return|say|write|print|with|only|antworte"
        r"|antworten sie|gib|nur|mit"
        r"|decide|label it|mark it|classify it|as)"
        r"(?: (?:with|only|only with|just|the word|exactly|mit|aus|nur|ausschließlich|as))*[:,]?",
        0,
    ),
)
_HEADED_LIST = r"(?:scale|ratings?|grades?|levels?|verdicts?|skala|stufen|urteil|noten):"
_CUED_LISTS = tuple(
    re.compile(
        rf"\b{cue}\s+({_Q}{_WORD}(?: {_WORD}){{0,{more}}}?{_Q}(?:{_OR}{_Q}{_WORD}(?: {_WORD}){{0,{more}}}?{_Q})+)"
        r"(?=\s*(?:[.;:\n]|$| only\b| as\b|, (?:and|with|nothing)\b))",
        re.IGNORECASE,
    )
    for cue, more in (*_LISTED_AFTER, (_HEADED_LIST, 3))
)
_YES_NO = re.compile(
    rf"\b(?:yes{_Q}{_OR}{_Q}no|no{_Q}{_OR}{_Q}yes|ja{_Q}{_OR}{_Q}nein|nein{_Q}{_OR}{_Q}ja|oui{_Q}{_OR}{_Q}non|non{_Q}{_OR}{_Q}oui|s[íi]{_Q}{_OR}{_Q}no|no{_Q}{_OR}{_Q}s[íi])\b",
    re.IGNORECASE,
)
TAGGED = re.compile(r"<([A-Za-z][\w-]*)>\s*([^<>\n]{0,60}?)\s*</\1>")
BRACKETS = re.compile(r"\[\[\s*([^\[\]\n]{1,30}?)\s*\]\]")
_ITEM = rf"(?:{_CAPS}|{_WORD}(?: {_WORD}){{0,2}}?)"
_KEYED = re.compile(
    rf"(?m)(?:^|[\"'`:]"
    rf"|\b(?=[A-ZÄÖÜ]))[ \t]*[*_#-]*[ \t]?[*_]*"
    rf"(?P<key>[A-ZÄÖÜ\u3040-\u9fff\uac00-\ud7af][\w]*(?: \w+){{0,2}})[*_]*:[*_]*[ \t]*"
    rf"[<\[({{]*{_Q}(?P<first>{_ITEM}){_Q}(?P<rest>(?:{_OR}{_Q}(?:(?P=key):[ \t]*)?{_Q}{_ITEM}{_Q})+)"
    r"(?=[ \t]*(?:[>\])}.;,\"'`(]|$))"
)
REPEATED = re.compile(
    rf"(?m)^[ \t]*[*_`\"']*(?P<key>[^\W\d_]\w*(?: \w+){{0,2}}?)(?P<gap> ?):[*_]*[ \t]*"
    rf"(?P<one>{_WORD}(?: {_WORD}){{0,2}})[*_`\"']*[ \t]*"
    rf"(?:\n[ \t]*(?:or|oder|ou|o|,)?|,?[ \t]+(?:or|oder|ou|o))[ \t]*\n?"
    rf"[ \t]*[*_`\"']*(?P=key) ?:[*_]*[ \t]*(?P<two>{_WORD}(?: {_WORD}){{0,2}})[*_`\"']*[ \t]*$"
)
"""Two lines that write the same key with one label each: the forms that the last line of an answer can have."""
_CONDITIONED = re.compile(
    rf"\b(?P<one>{_CAPS}){_Q} (?:if|when|wenn|falls|si) [^.\n]{{1,120}}?[,;.] ?(?:or |and |oder |und |ou |o )?"
    rf"{_Q}(?P<two>{_CAPS}){_Q} (?:if|when|wenn|falls|si|otherwise|sonst|sinon)\b"
)
_CASE = re.compile(
    r"\b(?:reply|answer|respond|output|print|return|write|say|antworte|schreibe?|réponds|écris|responde"
    r"|escribe)(?: with| mit| con| par)?:? "
    r"[\"'`“]([^\"'`”\n]{1,20})[\"'`”]",
    re.IGNORECASE,
)
"""A label that each of two cases has to be answered with."""
_NO_KEY = re.compile(
    r"one of|choose|wähle|eines|option|labels?$|following|antworte|output|values?|reply|respond|return|\bline\b"
    r"|\bzeile\b|\bligne\b"
    r"|\blínea\b",
    re.I,
)
_OFFERED = re.compile(
    r"(?:one of|choose|options?|labels?|categor|classes|possible|allowed|following|pick|select|wähle|kategorie"
    r"|antwortmöglich"
    r"|eine der|answers?|verdicts?|scale|ratings?|grades?|stufen|skala|wert)[^\n]*:[*_]*[ \t]*\n",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"[ \t]*(?:[-*•]|\(?[0-9a-z][.)])?[ \t]*{_Q}(?P<label>{_WORD}(?:[ -]{_WORD}){{0,4}}){_Q}[ \t]*(?:$|[:=(–—]"
    rf"|- |->|→)",
    re.MULTILINE,
)
_TO_FILL = re.compile(r":[*_]*[ \t]*(?:\.{3}|…|[<\[{(].*|\w{1,8}\?)?[ \t]*$")
"""A line with a key whose value is left out."""
_SYMBOL = r"[\u2190-\u2bff\U0001f000-\U0001faff][\ufe0f\u200d]?"
_DEFINED = re.compile(
    rf"[ \t]*(?:[-*•#|]+[ \t]*)?{_Q}(?:(?P<symbol>{_SYMBOL}){_Q}[ \t]+|"
    rf"(?P<label>{_WORD}(?:[ -]{_WORD}){{0,2}}|{_SYMBOL}){_Q}[ \t]*(?:[:=–—|]|- |->|→|\bmeans\b|\bif\b"
    rf"|\bwenn\b))[*_]*[ \t]*\S"
)
_IN_MARKS = r"^[ \t]*(?:[-*•#|]+[ \t]+)?(?:\*\*|__|[\"'`«„“])[*_\"'`« ]*"
_KEY_SET = re.compile(
    r"(?m)^[ \t]*(?:[-*•][ \t]+)?(?P<key>\w+) ?(?:==?|:) ?[\"'`](?P<label>[^\"'`\n]{1,30})[\"'`] ?[:–—-] ?\S"
)
"""A line such as `verdict = "late": the answer came after noon`."""
_LETTER_FOR = re.compile(
    rf"\b(?P<letter>[A-Z]){_Q} ?(?:for|=|means|stands for|für|pour|para|\()\s?{_Q}(?P<means>[^\W\d_]+(?: [^\W\d_]+)?)"
)
_LETTERED = re.compile(
    r"(?m)^[ \t]*(?:[-*•|][ \t]*)?[*_\"'`]*\(?([A-F])(?:[.):][*_)]*|[*_\"'`)]*(?: ?[-–—=|→]|[ \t]))[ \t]+\S"
)
_OTHERWISE = re.compile(
    rf"(?P<one>{_CAPS}|[\"'`]{_WORD}[\"'`])(?=[^\w])[^.\n]{{1,140}}?\b(?:otherwise|or else|else|sonst"
    rf"|andernfalls|sinon)\b"
    rf"[ ,:a-zäöü]{{0,25}}?(?P<two>{_CAPS}|[\"'`]{_WORD}[\"'`])"
)
_PIPED = re.compile(rf"[\"'`<]{_WORD}(?: {_WORD}){{0,2}}(?:\s?[|/]\s?{_WORD}(?: {_WORD}){{0,2}})+[\"'`>]")
_ABSTAINS = re.compile(
    r"attempt|enough|unknown|unclear|n/?a\b|unsure|cannot|undetermin|unverif|applicable|skip|unklar|invalid"
)
_DEGREE = re.compile(
    r"with|almost|nearly|needs|strong|full|part|complete|somewhat|slight|very|mostly|highly|minor|major|total|neither|weak|voll|teil"
    r"|parcial|partiel|algo|muy|très|peu|plut[oô]t|bedingt|condition|eher|sehr|überhaupt|quite"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLabels:
    """Labels in the order of the text, and what stands round them in the reply."""

    labels: tuple[str, ...]
    mark: str = ""


def read_labels(text: str) -> StatedLabels | None:
    """Read the labels that a text offers; None where it offers none."""
    tags: dict[str, list[str]] = {}
    for tag, inner in TAGGED.findall(text):
        tags.setdefault(tag, []).append(inner)
    for tag, inner in tags.items():
        labels = _distinct(inner if len(inner) > 1 else re.split(r"\s*(?:[|/]|\bor\b)\s*", inner[0]))
        if len(labels) > 1 and not all(re.fullmatch(r"-?[\d.]+", label) for label in labels):
            return StatedLabels(labels=labels, mark=f"<{tag}>...</{tag}>")
    for match in _OFFERED.finditer(text):
        labels = _options(text[match.end() :])
        if len(labels) > 2 and _are_labels(labels) and in_order(labels):
            return StatedLabels(labels=labels)
    cases = _distinct(_CASE.findall(text))
    if len(cases) == 2 and not set(_words(cases)).intersection(answer_words("no_labels")):
        return StatedLabels(labels=cases)
    brackets = _distinct(BRACKETS.findall(text))
    if len(brackets) > 1 and not any(re.fullmatch(r"[\d.]+", label) for label in brackets):
        return StatedLabels(labels=brackets, mark="[[...]]")
    if (match := REPEATED.search(text)) and not TEXTS.search(match["key"]):
        return StatedLabels(labels=_distinct([match["one"], match["two"]]), mark=f"{match['key']}{match['gap']}: ...")
    for match in _KEYED.finditer(text):
        key = match["key"]
        if TEXTS.search(key):
            continue
        marked = "" if _NO_KEY.search(key) and key.lower() != "label" else f"{key}: ..."
        rest = re.sub(rf"{re.escape(key)}:", "", match["rest"])
        labels = _distinct([match["first"], *re.split(_OR, rest)])
        if len(labels) > 1 and not set(_words(labels)).intersection(answer_words("no_labels")):
            return StatedLabels(labels=labels, mark=marked)
    for pattern in (_PIPED, _QUOTED_LIST, _CAPS_LIST, _CONDITIONED, _OTHERWISE, _LETTER_LIST, _YES_NO, *_CUED_LISTS):
        for labels in _lists(pattern, text):
            if _are_labels(labels):
                return StatedLabels(labels=labels)
    letters = dict.fromkeys(match["letter"] for match in _LETTER_FOR.finditer(text))
    if len(letters) > 1:
        return StatedLabels(labels=tuple(letters))
    if match := LETTER_RANGE.search(text):
        letters = "ABCDEF"[: "ABCDEF".index(match[2].upper()) + 1]
        return StatedLabels(labels=tuple(letters))
    for match in _OFFERED.finditer(text):
        if _are_labels(labels := _options(text[match.end() :])):
            return StatedLabels(labels=labels)
    return None


def read_defined(text: str, answer: str) -> StatedLabels | None:
    """Read labels that a text explains line by line, or names anywhere, if their words tell which is the worse.

    Args:
        text: All of the prompt.
        answer: What asks for the answer.
    """
    groups = _defined(text)
    asked = [group for group in groups if any(label.casefold() in answer.casefold() for label in group)]
    found = [labels for pattern in (_QUOTED_LIST, _CAPS_LIST, _OTHERWISE) for labels in _lists(pattern, text)]
    found += [*asked, *groups]
    found += [labels for pattern in (_LETTER_LIST, _YES_NO, *_CUED_LISTS) for labels in _lists(pattern, text)]
    chosen = next((labels for labels in found if _are_labels(labels) and in_order(labels)), None)
    return StatedLabels(labels=chosen) if chosen else None


def _lists(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]]:
    return [_items(match, quoted=pattern is _QUOTED_LIST) for match in pattern.finditer(text)]


def read_lettered(text: str) -> tuple[str, ...]:
    """Return the letters of a list whose lines open with A, B, C and so on; empty where there is none."""
    letters = tuple(dict.fromkeys(_LETTERED.findall(text)))
    return letters if len(letters) > 2 and "".join(letters) in ("ABC", "ABCD", "ABCDE", "ABCDEF", "ABCDF") else ()


def _defined(text: str) -> list[tuple[str, ...]]:
    """Return the labels of each run of lines that explain one label each."""
    groups: list[list[str]] = [[]]
    for line in text.split("\n"):
        if match := _DEFINED.match(line):
            groups[-1].append(match["label"] or match["symbol"])
        elif line.strip() and groups[-1]:
            groups.append([])
    return [_distinct(group) for group in groups if len(group) > 1]


def defined_in_capitals(text: str) -> list[tuple[str, ...]]:
    """Return the labels of lines that explain a word in capitals each, whether their words tell an order or not."""
    plain = re.sub(r"(?m)^.*:[ \t]*[<\[({\"'].*$", "", text)  # a line of the answer's form
    return [labels for labels in _defined(plain) if _are_labels(labels) and all(label.isupper() for label in labels)]


def defined_in_marks(text: str) -> list[tuple[str, ...]]:
    """Return the labels of lines that explain a word each in quotes, backticks or bold, or a key set to it."""
    groups = [
        labels
        for labels in _defined(text)
        if all(re.search(rf"(?m){_IN_MARKS}{re.escape(label)}(?!\w)", text) for label in labels)
    ]
    keyed: dict[str, list[str]] = {}
    for match in _KEY_SET.finditer(text):
        keyed.setdefault(match["key"], []).append(match["label"])
    groups += [_distinct(labels) for labels in keyed.values()]
    return [labels for labels in groups if _are_labels(labels)]


def read_shown(text: str) -> StatedLabels | None:
    """Read the labels of examples in a text that ends with their key: `Relevant: Yes`, ..., `Relevant:`."""
    match = re.search(r"(?:^|\n)[ \t]*([^\W\d_][\w ]{0,30}):\s*$", text)
    if match is None:
        return None
    labels = _distinct(re.findall(rf"(?m)^[ \t]*{re.escape(match[1])}:[ \t]+([^\W\d][\w -]{{0,24}})[ \t]*$", text))
    return StatedLabels(labels=labels, mark=f"{match[1]}: ...") if _are_labels(labels) else None


def _are_labels(labels: Sequence[str]) -> bool:
    return 2 <= len(labels) <= 12 and not set(_words(labels)).intersection(answer_words("no_labels"))


def _options(text: str) -> tuple[str, ...]:
    """Return the labels of the lines that a text begins with, one a line."""
    labels: list[str] = []
    for line in text.split("\n"):
        match = _OPTION.match(line)
        if match is None or _TO_FILL.search(line):
            if line.strip() or labels:
                break
            continue
        labels.append(match["label"])
    return _distinct(labels)


def in_order(labels: Sequence[str], text: str = "") -> tuple[str, ...] | None:
    """Return labels with the worst first; None where their words do not tell.

    Args:
        labels: As they are offered.
        text: All of the prompt, which says whether letters are grades or the letters of options.
    """
    if all(re.fullmatch(r"[A-F][+-]?", label) for label in labels) and len(labels) > 3:
        if "F" not in labels and not LETTER_RANGE.search(text) and not _LETTER_GRADES.search(text):
            return None
        return tuple(sorted(labels, key=lambda grade: (-ord(grade[0]), "-+".find(grade[1:]) if grade[1:] else 0.5)))
    words = {label.casefold().replace(" ", "_"): label for label in labels}
    for row in answer_rows("ranked"):
        if len(labels) > 2 and words.keys() <= set(row):
            return tuple(words[word] for word in row if word in words)
    severities = list(answer_words("severities"))
    folded = [label.casefold() for label in labels]
    if set(folded) <= set(severities) and not set(folded) <= {"none", "low", "medium", "high", "small", "mittel"}:
        return tuple(sorted(labels, key=lambda label: -severities.index(label.casefold())))
    first, last = _side(labels[0], labels[-1]), _side(labels[-1], labels[0])
    if first == last or (len(labels) > 2 and 0 in (first, last)):
        return None  # of more than two labels one end alone may be misread, such as "none", which may be good
    if len(labels) > 2:
        middle = [_side(label, labels[0]) for label in labels]
        alike = any(
            one == other and not _DEGREE.search(f"{label} {following}".casefold())
            for one, other, label, following in zip(middle, middle[1:], labels, labels[1:], strict=False)
        )
        ends = f"{labels[0]} {labels[-1]}".casefold().replace("_", " ")
        if _ABSTAINS.search(ends) or (alike and len(labels) == 3):
            return None
    worse_first = first < last
    return tuple(labels) if worse_first else tuple(reversed(labels))


def ends_differ(labels: Sequence[str]) -> bool:
    """Whether the first and last label mean opposite ends of a scale."""
    return _side(labels[0], labels[-1]) * _side(labels[-1], labels[0]) < 0


def _side(label: str, other: str) -> int:
    """Return -1 for the worse of two labels, 1 for the better, 0 where its words do not tell."""
    folded, opposite = label.casefold().replace("_", " "), other.casefold().replace("_", " ")
    if meant := _meant(folded):
        return meant
    for mine, theirs, side in ((folded, opposite, -1), (opposite, folded, 1)):
        negated = _NEGATION.match(mine)
        if negated and theirs.startswith(mine[negated.end() :][:5]):
            return side
    return -1 if folded in ("n",) and opposite in ("y", "j") else 1 if folded in ("y", "j") and opposite == "n" else 0


def _meant(label: str) -> int:
    """Return -1 for bad words, 1 for good ones, 0 where they do not tell; "not" turns it round."""
    if negated := _NEGATION.match(label):
        rest = _meant(label[negated.end() :])
        if rest or negated.group().endswith((" ", "-")):
            return -rest
    words = set(re.findall(r"[^\W_]+|[\u2190-\u2bff\U0001f000-\U0001faff]", label))
    if words.intersection(answer_words("worse")):
        return -1
    return 1 if words.intersection(answer_words("better")) else 0


@cache
def answer_rows(kind: str) -> list[list[str]]:
    """Return the rows of a kind, each in its order."""
    path = files("judgewright.runs.imports") / "answer_words.yaml"
    return [row.split() for row in yaml.safe_load(path.read_text(encoding="utf-8"))[kind]]


@cache
def answer_words(kind: str) -> dict[str, None]:
    """Return the words of a kind, in the order of the file."""
    path = files("judgewright.runs.imports") / "answer_words.yaml"
    return dict.fromkeys(yaml.safe_load(path.read_text(encoding="utf-8"))[kind].split())


def _items(match: re.Match[str], *, quoted: bool) -> tuple[str, ...]:
    if quoted:
        return _distinct(re.findall(_QUOTED, match.group()))
    if match.re in (_OTHERWISE, _CONDITIONED):
        return _distinct([match["one"], match["two"]])
    if match.re is _LETTER_LIST:
        return tuple(dict.fromkeys(re.findall(r"(?<![\w(])[A-F](?!\w)", re.sub(r"\([^()]*\)", "", match.group()))))
    if match.re is _PIPED:
        return _distinct(re.split(r"[|/]", match.group()))
    text = match.group(1) if match.re in _CUED_LISTS else match.group()
    return _distinct(re.split(_OR, text))


def _words(labels: Sequence[str]) -> set[str]:
    """Return labels as words; a letter, which may be a grade, is none."""
    return {label.lower() for label in labels if not (len(label) == 1 and label.isupper())}


def _distinct(items: Sequence[str]) -> tuple[str, ...]:
    stripped = (item.strip(" \t\n\"'`“”„‘’*_.<>[]()") for item in items)
    found: dict[str, str] = {}
    for item in stripped:
        if item:
            found.setdefault(item.casefold(), item)
    return tuple(found.values())
