"""A person's prompt as units, line by line and sentence by sentence: what is a rule, what asks for
the answer.

Only the rules are criteria. The unit that says what the judge is, headings, the row's fields with
their labels, and what asks for the form of the answer are not: optimization must leave them alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .enumerations import enumerations, offers_capitals
from .prompt_words import pattern_of

FIELD = "\ufffc"
"""Stands for a field of the row in a text that is read for its units."""
_WORD = r"[^\W\d_][\w+-]*"
_REPEATED = re.compile(
    rf"(?m)^[ \t]*[*_`\"']*(?P<key>[^\W\d_]\w*(?: \w+){{0,2}}?)(?P<gap> ?):[*_]*[ \t]*"
    rf"(?P<one>{_WORD}(?: {_WORD}){{0,2}})[*_`\"']*[ \t]*"
    rf"(?:\n[ \t]*(?:or|oder|ou|o|,)?|,?[ \t]+(?:or|oder|ou|o))[ \t]*\n?"
    rf"[ \t]*[*_`\"']*(?P=key) ?:[*_]*[ \t]*(?P<two>{_WORD}(?: {_WORD}){{0,2}})[*_`\"']*[ \t]*$"
)
"""Two lines that write the same key with one label each: the forms that the last line of an answer
can have.
"""
UnitKind = Literal["blank", "row", "tag", "heading", "role", "answer", "rule"]

_TAG = re.compile(
    r"\s*(?:</?[A-Za-z][\w -]*>|\[[^\[\]?.!]{1,60}\]|[\"'`*=~-]{3,}\w*"
    r"|(?P<rule>[=~#*+-]{2,}) ?[^\n=~#*+|.!?]{1,50} ?(?P=rule))\s*$"
)
_HEADING = re.compile(
    r"\s*(?:#{1,6}\s.{1,80}|\*\*[^*]{1,60}\*\*:?|(?![-*•\d])[^.!?{}\"]{1,40}:)\s*$"
)
_BARE_HEADING = re.compile(r"\s*[A-ZÄÖÜ][\w-]*(?: [\w-]+){0,2}\s*$")
_BULLET = r"\s*(?:[-*•]\s+|\(?[0-9a-z]{1,2}[.)]\s+)?"
ABOUT_CRITERIA = re.compile(
    r"criteri|rubric|\brules?\b|guideline|_guide\b|kriteri|regeln|skala|\bscale\b|require",
    re.IGNORECASE,
)
_ANSWER_HEADING = re.compile(
    r"\W*(?:your )?(?:output|answer|response|reply|antwort|ausgabe|format)\w*(?:["
    r" -](?:format|structure|schema))?"
    r"(?: \([^()]*\))?\W*$",
    re.IGNORECASE,
)
_VERB = (
    r"(?:answer|respond|reply|return|output|print|finish|conclude|close|format(?!\w*:)|name|produce|emit|write|end|score"
    r"|begin|start"
    r"|antworten?|schreiben?|gib|geben?"
    r" sie|vergib|wählen?|nenne|liefere|ausgabe|begründen?|beenden?|schließen?"
    r"|erklären?|think(?! about)"
    r"|reason|explain|provide|give|state|assign|report|rate|label|choose|select|pick|use"
    r" (?:this|the following"
    r"|exactly)|réponde?z?|réponds|donne[rz]?"
    r"|renvoie|retourne[rz]?|écri[st]|termine[rz]?|rispondi|responda|antwoord|responde|contesta|devuelve|put|wrap|enclose|place)"
)
_LEAD = (
    r"(?:please |now |first,? |then,? |finally,? |bitte |only |just |you (?:must|should|will|have"
    r" to|need to) "
    r"|danach |dann "
    r"|after (?:that|this|the \w+),? |zuerst |abschließend |always |immer |at the end,? |am ende"
    r" |#+ )*"
)
_STRONG = (
    r"(?:answer|respond|reply|return|output|print|finish|conclude|close|end|antworten?|schreiben?"
    r"|réponde?z?|réponds|renvoie)"
)
SURELY_ASKS = re.compile(
    rf"{_BULLET}{_LEAD}(?:explain|justify|say|begründen?|explique[rz]?|justifie[rz]?|explica|justifica)\b"
    r"(?! (?:why|how|what|that|warum|wie|was)\b)[^.\n]{0,60}"
    r"\b(?:sentences?|words?|sätzen?|wörtern?|worten|phrases?|frases?)\b|"
    rf"{_BULLET}{_LEAD}{_STRONG}\b(?! (?:is|was|has|may|must|should|that|which|or|and)\b)"
    rf"|{_BULLET}(?:your|the|deine|ihre|die|final) (?:final |whole |entire |only )?"
    r"(?:output|response|answer|reply|verdict|antwort|ausgabe) (?:should|must|has to|needs"
    r" to|muss|soll|will) "
    r"(?:be|have|contain|consist|include|only|end|start|begin|follow|use|nur|aus|ein)\b[^\n]{0,80}?"
    r"\b(?:json|word|wort|format|number|integer|zahl|string|label|one"
    r" of|either|single|exactly|digit|object"
    r"|line|keys?)\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"(?:,|\b(?:and|or|with|und|oder|mit|et|ou|y|o|con))[ \t]*$", re.IGNORECASE
)
"""How a line ends whose sentence goes on in the next."""
_ASKS = re.compile(rf"{_BULLET}{_LEAD}{_VERB}\b", re.IGNORECASE)
_ASKS_IN_ANY_LANGUAGE = re.compile(rf"{_BULLET}(?:{pattern_of('asks')})\b", re.IGNORECASE)
_EXAMPLE = re.compile(rf"\W*(?:{pattern_of('examples')})\s?\d*\W*", re.IGNORECASE)
_OF_REASON = re.compile(rf"\b(?:{pattern_of('reasons')})\b", re.IGNORECASE)
_AT_A_LINE = re.compile(
    rf"\b(?:{pattern_of('ends_of_lines')})\s(?:{pattern_of('lines')})\b.*\b(?:{pattern_of('asks')})\b"
    rf"|\b(?:{pattern_of('asks')})\b.*\b(?:{pattern_of('ends_of_lines')})\s(?:{pattern_of('lines')})\b",
    re.IGNORECASE,
)
_GRADES = re.compile(
    rf"{_BULLET}{_LEAD}(?:score|rate|label|assign|use|give|think|explain)\b", re.IGNORECASE
)
_FORM_IN_ANY_LANGUAGE = re.compile(
    # "Nota: N"
    rf"[\"“„«'`]\s?\w[\w ]{{0,25}}:\s?(?:[NXn_#]+|\.{{3}}|…|<[^<>]*>|\d+|[\w-]+)\s?[\"”“»'`]"
    rf"|<(?:\w+ )?(?:{pattern_of('verdict_fields')}|{pattern_of('reasons')})>"
    rf"|\b(?:{pattern_of('reasons')})\b.*\b(?:{pattern_of('lines')}|{pattern_of('in_turn')})\b"
    rf"|\b(?:{pattern_of('in_turn')})\b.*\b(?:{pattern_of('reasons')})\b"
    rf"|^\W*(?:{pattern_of('in_turn')})\b.*\b(?:one|two|a|\d|einem|zwei|une|deux|una|dos) (?:\w+ )?"
    rf"(?:{pattern_of('lengths')})\b"
    rf"|^\W*(?:{pattern_of('without')})\b.*\b(?:{pattern_of('reasons')}|{pattern_of('of_replies')})\b"
    rf"|\b(?:{pattern_of('alone')})\b.*\b(?:{pattern_of('writes_last')})\W*$",
    re.IGNORECASE,
)
"""A short sentence that shows the form of the answer, sets a reason and a verdict in turn, or
forbids other text.
"""
CONDITIONAL = re.compile(rf"\W*(?:{pattern_of('if')})\b", re.IGNORECASE)
OF_FORM = re.compile(
    rf"\b(?:{pattern_of('reasons')}|{pattern_of('lines')}|{pattern_of('alone')})\b", re.IGNORECASE
)
_ROLE = re.compile(
    r"\W*(?:你是|您是|请你|あなたは|you are|you're|your (?:task|job|role|goal)\b|du bist|sie"
    r" sind|act as|as an?\b|tu es"
    r"|vous êtes)",
    re.IGNORECASE,
)
_ABOUT_ANSWER = re.compile(
    r"\bjson\b|\b(?:answer|respond|reply|return|output|antworten?|antwort|option|réponse)\b"
    r"|\b(?:last|first|letzten?|ersten?|single|own) (?:line|zeile)\b|\b(?:explanation|reasoning"
    r"|justification|rationale|rating|critique|begründung"
    r"|verdict|urteil|digit|punctuation|lower-?case|upper-?case|exactly"
    r" one|number|integer|format|zahl|wort"
    r"|tags?|one word|step by"
    r" step|briefly|label|score|grade|note|bewertung|comment|points?|stars?|sterne|punkte"
    r"|letters?|buchstaben?|lettre|words?|wort|mot|palabra|emoji)\b",
    re.IGNORECASE,
)
ALWAYS_ANSWER = re.compile(
    r"\bjson\b|(?:^|:|`)\s*\{\s*[\"'][\w ]+[\"']\s*:|^\s*[\"'][\w ]+[\"']\s*:|\[\["
    r"|<(\w+)>\s*(?:[^<>\s]+\s*){0,4}</\1>|\bscore is an? "
    r"|\b(?:exactly|strictly)? ?in (?:exactly )?(?:this|the following) (?:form|format)\b|im"
    r" folgenden format"
    r"|\b(?:last|first|final|letzten?|ersten?) (?:line|zeile)\b"
    r"|\bline [\"“'`][A-Z]|\[[A-Z]{3,20}\]\s*[<(\[]|\bone of: "
    r"|\b(?:end|finish|close|conclude) with:?\s*$"
    r"|\bends? (?:\w+ ){0,3}with (?:a|one|the) (?:\w+ )?line\b|\b(?:output|answer|response|reply)"
    r" format\b"
    r"|^\W*\w+ first, then (?:an? |the"
    r" )?(?:dash|reason|expla|line|comma|justif|comment)|\bmax(?:imal"
    r"|imum)?\.? \d+ (?:words|wörter|mots)\b|\bwhere (?:score|\d) (?:is|means)|[\"'`]\w+[\"'`]"
    r" (?:field|key)\b"
    r"|\b(?:reply|answer|respond|output|print|return|write)(?: with)?"
    r" [\"'`“][^\"'`”\n]{1,20}[\"'`”]"
    r"|^\W*(?:verdict|decision|urteil|result|rating|score):\s*(?:write|give|say|print|put|one"
    r" of|either|schreib)\b"
    r"|^\W*(?:do not|don't|never|no) (?:explain|explanations?|justify|elaborate|include any"
    r" (?:other|further)"
    r"|add any (?:other|further)|other text|output any)\b"
    r"|请(?:只|仅|直接|最后)?(?:输出|回答|返回|给出|以)|(?:只|仅)输出|出力し|(?:書い|答え|回答し|出力し|返し)てください",
    re.IGNORECASE,
)
LINE_FORM = re.compile(
    r"\s*[\w -]{1,25}:\s*<[^<>]*>\s*$|\s*[*_]*[A-ZÄÖÜ][\w -]{0,25}[*_]*:[*_]*\s*"
    r"(?:[<\[(][^<>\[\]]*[>\])]|\.\.\.|…|(?:\d{1,3}|N{1,3}|X{1,3})(?: ?%|/\d{1,3})?$|[\w-]+"
    r" (?:or|oder|\||/) [\w :-]+"
    r"|[\w-]+(?: [\w-]+){0,2}(?: ?[/|] ?[\w-]+(?: [\w-]+){0,2})+)\s*\W*$"
)
_KEY_WITH_PLACE = re.compile(r"\s*[*_]*[^\W\d_][\w -]{0,25}[*_]*:[*_]*\s*(?:[NXnx#_]|\.\.\.|…)\s*$")
"""A line such as `SEVERITY: n`, which belongs to the form of the answer where it stands under
another line of it.
"""
_LEVEL = re.compile(
    r"\s*[-*•]?\s*[*_]*(?:score|grade|level|stufe" r"|note) ?-?\d{1,3}[*_]*\s*[:=–—-]\s*\S",
    re.IGNORECASE,
)
_LISTED_LINE = re.compile(
    r"[ \t]*(?:[-*•\"'{}<]|\d{1,2}[.)]|\t| {2}|[\w ]{1,40}$|[*_]*[A-ZÄÖÜ][\w -]{0,25}[*_]*:["
    r" \t]*\S[^\n]{0,80}$)"
)
_KEYED_ITEM = re.compile(r"\s*[-*•]\s*[\"'`*]{1,3}\w+[\"'`*]{1,3}")
_NAMES_KEYS = re.compile(r"\bjson\b|\bfields?\b|\bkeys?\b", re.IGNORECASE)
_ITEM_LINE = re.compile(r"\s*(?:[-*•]|\(?[0-9a-zA-Z]{1,2}[.)])\s")
_LEVEL_LINE = re.compile(
    r"\s*[-*•]?\s*[*_\"'`]*-?\d{1,3}[*_\"'`]*\s*(?:points?|punkte?)?(?:\s*[:=–—(-]|\s+[^\W\d_]+(?:\s[\w,]+){2,})"
)
_JUDGES = re.compile(
    r"\W*(?:please )?(?:evaluate|assess|rate|judge|score|grade|bewerte|beurteile|prüfe)\b",
    re.IGNORECASE,
)
_OF_LABELS = re.compile(
    r"^(?!.*\b(?:json|fields?|keys?|format|lines?)\b).*\b(?:labels?|categor|class|grades?|scale|verdicts?"
    r"|values?|options?|letter|buchstabe|one of|eines|stufen|skala)",
    re.IGNORECASE | re.DOTALL,
)
_EXPLAINS = re.compile(
    r"[ \t]*(?:[-*•][ \t]*)?[*_]*\(?[A-F][.)][*_)]*[ \t]+\w|[ \t]*(?:[-*•]"
    r"|\d{1,2}[.)])?[ \t]*[*_\"'`]*[\w -]{1,40}[*_\"'`]*[ \t]*[:=(–—-][*_]*["
    r" \t]*\w+(?:[^\w\n]+\w+){4,}"
)
_GIVEN = re.compile(
    r"\s*(?:you (?:get|are given|will (?:be given|get|receive|see))|here (?:is|are)|du"
    r" (?:erhältst|bekommst))\b",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A line, or a sentence of a line with several."""

    start: int
    end: int
    kind: UnitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of the text, by its characters."""

    start: int
    end: int


_PLAIN_MARKS = str.maketrans(
    "：（）［］【】，。；！？「」『』〈〉《》　｜・、", ':()[][];.;!?""""<><> |-,'
)


def plain_marks(text: str) -> str:
    """Return a text of the same length with the punctuation of Chinese and Japanese as in
    English.
    """
    return text.translate(_PLAIN_MARKS)


def read_units(text: str) -> list[Unit]:
    """Cut a text into units, and say what each is; fields stand in it as `FIELD`."""
    pieces = [piece for line in _lines(text) for piece in _sentences(text, line)]
    units: list[Unit] = []
    in_answer = in_form = of_labels = of_keys = told = told_levels = False
    forms = [match.span() for match in _REPEATED.finditer(text)]
    for at, piece in enumerate(pieces):
        words = text[piece.start : piece.end]
        following = next((p for p in pieces[at + 1 :] if text[p.start : p.end].strip()), None)
        kind = _kind(words, text[following.start : following.end] if following else "")
        explained = _LEVEL_LINE.match(words) or (of_labels and _EXPLAINS.match(words))
        listed = (_KEYED_ITEM if of_keys else _LISTED_LINE).match(words) is not None
        follows_form = bool(units) and units[-1].kind == "answer"
        follows = follows_form and text[: units[-1].end].rstrip().endswith(":")
        if (
            kind in ("rule", "heading")
            and follows_form
            and _UNFINISHED.search(text[: units[-1].end])
        ):
            kind = "answer"  # the sentence before goes on here
        if (
            kind in ("rule", "heading")
            and in_form
            and (listed or follows)
            and not explained
            and not told_levels
        ):
            kind = "answer"  # what stands under "return these fields:"
        if (
            kind == "tag"
            and re.fullmatch(r"\s*(?:={3,}|-{3,})\s*", words)
            and units
            and units[-1].kind not in ("blank", "row")
        ):
            kind = (
                units[-1].kind if units[-1].kind == "answer" else "heading"
            )  # the line under a heading
        of_row = kind == "tag" and (
            "</" in words or (following and FIELD in text[following.start : following.end])
        )
        if (
            any(piece.start < end and piece.end > start for start, end in forms)
            and FIELD not in words
        ):
            kind = "answer" if words.strip() else kind
        elif _ANSWER_HEADING.match(words) and kind != "row" and not of_row:
            kind, in_answer = "answer", True
        elif kind in ("row", "heading") and not (
            in_answer and (LINE_FORM.match(words) or (kind == "heading" and _ASKS.match(words)))
        ):
            in_answer = False
        elif (in_answer and kind != "blank") or (follows_form and _KEY_WITH_PLACE.match(words)):
            kind = "answer"
        if kind == "rule" and (_GIVEN.match(words) or (not told and not _ITEM_LINE.match(words))):
            kind = "role"
        told = (
            told
            or kind in ("role", "answer")
            or _ROLE.match(words) is not None
            or _says_more(words)
        )
        if kind != "blank":
            if not in_form:
                of_labels = _OF_LABELS.search(words) is not None
            next_words = text[following.start : following.end] if following else ""
            of_keys = (of_keys and in_form) or (
                kind == "answer"
                and _KEYED_ITEM.match(next_words) is not None
                and _NAMES_KEYS.search(words) is not None
            )
            bulleted = (
                re.match(r"\s*[-*•]", text[following.start : following.end]) if following else None
            )
            aspects = bulleted and _JUDGES.match(words) and not _NAMES_KEYS.search(words)
            in_form = (
                kind == "answer" and (of_keys or words.rstrip().endswith(":")) and not aspects
            ) or (in_form and (listed or bool(explained)))
            told_levels = in_form and kind == "rule" and bool(explained or told_levels)
        units.append(Unit(start=piece.start, end=piece.end, kind=kind))
    for at, unit in enumerate(units[:-1]):
        question = text[unit.start : unit.end].rstrip().endswith("?") and not re.match(
            r"\s*(?:[-*•]|\d)", text[unit.start :]
        )
        if (
            unit.kind == "rule" and question and units[at + 1].kind == "answer"
        ):  # it asks for the verdict
            units[at] = Unit(start=unit.start, end=unit.end, kind="role")
    units = _with_answer_after_row(_without_examples(text, _without_headed_examples(text, units)))
    if not any(
        unit.kind == "rule" for unit in units
    ):  # one sentence says both what to judge and how
        row = next((unit.start for unit in units if unit.kind == "row"), 0)
        says = [
            unit.kind == "role"
            or (
                unit.kind == "answer"
                and unit.end <= row
                and bool(_JUDGES.match(text[unit.start : unit.end]))
            )
            for unit in units
        ]
        units = [
            Unit(start=u.start, end=u.end, kind="rule" if said else u.kind)
            for u, said in zip(units, says, strict=True)
        ]
    return units


def _without_headed_examples(text: str, units: list[Unit]) -> list[Unit]:
    """Take for no rules what stands under a line that says "Example" alone, up to the next blank
    line.
    """
    kept: list[Unit] = []
    inside = False
    for unit in units:
        words = text[unit.start : unit.end]
        inside = unit.kind != "blank" and (inside or _EXAMPLE.fullmatch(words) is not None)
        kept.append(
            Unit(start=unit.start, end=unit.end, kind="role")
            if inside and unit.kind != "row"
            else unit
        )
    return kept


def _without_examples(text: str, units: list[Unit]) -> list[Unit]:
    """Take lines for no rules that stand under each other with the labels of the row: a worked
    example.
    """
    label = re.compile(r"[ \t]*[*_]*(\w[\w -]{0,30})[*_]*:")
    labels = {
        m[1].casefold()
        for u in units
        if FIELD in text[u.start : u.end] and (m := label.match(text, u.start))
    }
    found: set[int] = set()
    run: list[int] = []
    for at, unit in enumerate([*units, Unit(start=len(text), end=len(text), kind="blank")]):
        if unit.kind in ("rule", "answer", "heading") and at < len(units):
            run.append(at)
            continue
        starts = [
            m[1].casefold() for i in run if (m := label.match(text, units[i].start, units[i].end))
        ]
        if (
            run
            and len(labels) > 1
            and labels <= set(starts)
            and label.match(text, units[run[0]].start)
        ):
            found.update(run)
        run = []
    return [
        Unit(start=u.start, end=u.end, kind="role") if at in found else u
        for at, u in enumerate(units)
    ]


def _with_answer_after_row(units: list[Unit]) -> list[Unit]:
    """Where no words that we know ask for the answer, the few lines after the row do, if rules come
    before it.
    """
    rows = [at for at, unit in enumerate(units) if unit.kind == "row"]
    if any(unit.kind == "answer" for unit in units) or not rows:
        return units
    before = any(unit.kind == "rule" for unit in units[: rows[0]])
    after = [
        at
        for at in range(rows[-1] + 1, len(units))
        if units[at].kind in ("rule", "role", "heading")
    ]
    if not before or not 0 < len(after) <= 3:
        return units
    return [
        Unit(start=unit.start, end=unit.end, kind="answer") if at in after else unit
        for at, unit in enumerate(units)
    ]


def _says_more(words: str) -> bool:
    """Whether a line with a field is a sentence, and not the field with its label."""
    return FIELD in words and len(re.findall(r"[^\W\d_]+", words.partition(FIELD)[0])) > 4


def without_rows(text: str, units: Sequence[Unit]) -> str:
    """Return a text with a full stop for each field with its label."""
    kept, start = "", 0
    for unit in units:
        words = text[unit.start : unit.end]
        if unit.kind == "row" and not _says_more(words):
            kept += text[start : unit.start] + "."
            start = unit.end
    return kept + text[start:]


def words_on_answer(text: str, units: Sequence[Unit]) -> str:
    """Return the words of a text that ask for the answer, with a label at its end that the answer
    goes on from.
    """
    asks = "\n".join(text[unit.start : unit.end] for unit in units if unit.kind == "answer")
    if units[-1].kind != "answer" and text.rstrip().endswith(":"):
        asks += "\n" + text.rstrip().rpartition("\n")[2]
    return asks


def _kind(words: str, following: str) -> UnitKind:
    if not words.strip():
        return "blank"
    if FIELD in words:
        return "row"
    if _LEVEL.match(words):
        return "rule"
    if _TAG.match(words):
        return "tag"
    leads_to_row = FIELD in following or (
        _TAG.match(following) is not None and not following.strip().startswith(("</", "```"))
    )
    if (
        words.rstrip().endswith(":")
        and leads_to_row
        and len(words) <= 80
        and not ABOUT_CRITERIA.search(words)
    ):
        return "row"
    if _ROLE.match(words) and not re.search(r"[{,]\s*[\"'][\w ]+[\"']\s*:", words):
        return "rule"
    if (
        SURELY_ASKS.match(words)
        or ALWAYS_ANSWER.search(words)
        or LINE_FORM.match(words)
        or re.fullmatch(r"\s*[{}\[\]]+,?\s*", words)
    ):
        return "answer"
    if len(words) > 110 and _GRADES.match(words) and re.search(r"\(|,.*,", words):
        # "Score accuracy (no wrong statement), coverage (all dates), brevity": it says what counts
        return "rule"
    if _ASKS.match(words) and _ABOUT_ANSWER.search(words) and not ABOUT_CRITERIA.search(words):
        return "answer"
    if (
        _ASKS.match(words)
        and re.search(r"\b(?:[A-Z]{2,}|yes|no|ja|nein|\d)\b", words)
        and len(words) < 120
    ):
        return "answer"
    if _AT_A_LINE.search(words) or (
        _ASKS_IN_ANY_LANGUAGE.match(words) and _OF_REASON.search(words)
    ):
        return "answer"
    if len(words) <= 120 and not CONDITIONAL.match(words) and not _ITEM_LINE.match(words):
        alone = re.search(rf"\b(?:{pattern_of('alone')})\b", words, re.IGNORECASE)
        if _FORM_IN_ANY_LANGUAGE.search(words) or (alone and offers_capitals(words)):
            return "answer"
    if "|" in words and re.fullmatch(r"[\s|:-]+", words):
        return "heading"  # the rule under the head of a table
    if _ASKS_IN_ANY_LANGUAGE.match(words) and any(
        one.form != "conditions" and one.start <= 60 for one in enumerations(words, asked=True)
    ):
        return "answer"
    if _HEADING.match(words) or (_BARE_HEADING.match(words) and len(words.strip()) > 3):
        return "heading"
    return "rule"


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield Span(start=start, end=start + len(line))
        start += len(line) + 1


def _sentences(text: str, line: Span) -> Iterator[Span]:
    start = line.start
    words = text[line.start : line.end]
    if FIELD not in words and not words.lstrip().startswith(("#", "{", '"')):
        for match in re.finditer(
            r"(?<=[.!?:])[\"'”)]?\s+(?=[\"“(]?[A-ZÄÖÜÉÈÀ¿¡])|(?<=[.!?])(?=[\u3040-\u9fff])", words
        ):
            before = words[: match.start()]
            if re.fullmatch(r"\s*(?:[-*•]\s*)?\(?\w{1,2}[.)]", before) or before.endswith(
                (":", "z.B.", "e.g.", "bzw.")
            ):
                continue
            at = line.start + match.end()
            yield Span(start=start, end=line.start + match.end())
            start = at
    yield Span(start=start, end=line.end)
