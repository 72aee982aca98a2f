"""What Judgewright understands of a person's prompt, before it is saved as a judge: the words and
fields stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...judges import CRITERIA_PLACE, InputError, JudgePrompt, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .answer_format import reply_clause
from .convert import fill_fixed
from .criteria import find_criteria
from .demonstrations import read_demonstrations
from .foreign_judge import AddOptions, ForeignJudge
from .known_answer import ask_for_threshold, known_answer, with_threshold
from .stated_answer import Question, StatedAnswer
from .stated_threshold import stated_threshold
from .template_syntaxes import our_template
from .text_units import FIELD, Span, Unit, plain_marks, read_units, without_rows, words_on_answer

_NAMESPACES = (
    "json",
    "sys",
    "item",
    "sample",
    "vars",
    "row",
    "data",
    "record",
    "example",
    "inputs",
    "outputs",
)
"""What stands before the dot of a field in tools that group a row's fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """A prompt as it was read, with what it leaves open."""

    judge: ForeignJudge
    prompt: JudgePrompt | None
    """None while a question is open."""
    questions: tuple[Question, ...]
    text: str
    """All of it, with a sign for each field."""
    units: tuple[Unit, ...]
    marked: tuple[tuple[str, str], ...]
    """The text line by line, each with what it was taken for."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The prompt's own name of each field to the one it has here; the same wherever it can be one.
    """
    scale: OutputScale | None = None
    criteria_lines: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    """What is not as it was there, in whole sentences."""


def understand(judge: ForeignJudge, options: AddOptions) -> Understood:
    """Read what the prompt judges, on what scale, how it answers, and which of its words are
    criteria.

    Raises:
        InputError: It has no field, a message that cannot be kept, or an option does not fit.
    """
    notes = list(judge.notes)
    messages = fill_fixed(judge, options, notes)
    before, demonstrations, last = _conversation(messages)
    parts = _joined([*before, last])
    fields = [part.name for part in parts if isinstance(part, Field)]
    if not fields:
        raise InputError(
            f"{judge.location} has no field for a row",
            hint="write {field} or {{field}} where the text of a row goes",
        )
    names = _names(fields, options.fields, notes)
    text = "".join(FIELD if isinstance(part, Field) else part for part in parts)
    reading = plain_marks(text)
    units = read_units(reading)
    span = _criteria(text, units, judge, options)
    asks = words_on_answer(reading, units)
    reading = without_rows(reading, units).replace(FIELD, "")
    answer = known_answer(judge, asks, reading, options)
    questions = list(answer.questions)
    scale = with_threshold(answer.scale, options) if answer.scale else None
    told = options.threshold is not None or (
        options.scale is not None and not options.threshold_open
    )
    if scale and not told and (judge.scale is None or judge.threshold_open):
        said, open_words = stated_threshold(reading, judge.beside, scale)
        if said is not None:
            scale = replace(scale, threshold=said)
        elif open_words and not options.labels:
            questions.append(ask_for_threshold(open_words, scale.labels))
        elif scale.kind not in ("binary", "choice"):
            at = scale.name(scale.threshold)
            passing = f"up to {at}" if scale.low_is_good else f"from {at} on"
            notes.append(
                f"It does not say which answers pass: {passing} they do here,"
                f" {'above ' if scale.labels else ''}the middle of the scale; --threshold says"
                " another."
            )
    if scale is None and not questions:
        text_of = (
            "on what scale does it answer? (--scale 1..5@4, or --labels FAIL,PASS with the worst"
            " first)"
        )
        questions.append(Question("scale", text_of))
    if span is None:
        questions.append(
            Question(
                "criteria", "which of its words are the criteria? (--criteria 'FIRST ... LAST')"
            )
        )
    prompt = None
    if not questions and scale is not None and span is not None:
        renamed = [Field(names[part.name]) if isinstance(part, Field) else part for part in parts]
        prompt = _prompt(
            judge, options, renamed, text, units, span, replace(answer, scale=scale), notes
        )
        prompt = replace(prompt, examples=read_demonstrations(demonstrations, last, names))
        prompt = replace(prompt, note=" ".join([f"Added from {judge.location}.", *notes]))
    return Understood(
        judge=judge,
        prompt=prompt,
        questions=tuple(questions),
        text=text,
        units=tuple(units),
        marked=_marked(text, units, span, [names[name] for name in fields]),
        fields=names,
        scale=scale,
        criteria_lines=span
        and (text.count("\n", 0, span.start) + 1, text.count("\n", 0, span.end) + 1),
        notes=tuple(notes),
    )


def _conversation(
    messages: Sequence[TemplateMessage],
) -> tuple[list[TemplateMessage], list[tuple[TemplateMessage, TemplateMessage]], TemplateMessage]:
    """Return system messages, demonstrations, and the message that shows the row."""
    *rest, last = messages
    system = [message for message in rest if message.role == "system"]
    turns = [message for message in rest if message.role != "system"]
    roles = [message.role for message in turns]
    if (
        last.role != "user"
        or roles != ["user", "assistant"] * (len(turns) // 2)
        or rest[: len(system)] != system
    ):
        raise InputError(
            f"the roles are {[message.role for message in messages]}",
            hint=(
                "a judge has system messages, demonstrations (user, assistant), and one user"
                " message with the fields"
            ),
        )
    return system, list(zip(turns[::2], turns[1::2], strict=True)), last


def _joined(messages: Sequence[TemplateMessage]) -> tuple[TemplatePart, ...]:
    parts: list[TemplatePart] = []
    for message in messages:
        parts += ["\n\n", *message.parts] if parts else message.parts
    return join_literals(parts)


def _names(fields: Sequence[str], wished: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return the name of each field here: its own wherever a field of ours can have it."""
    names: dict[str, str] = {}
    for wish in wished:
        if wish not in fields:
            raise InputError(
                f"there is no field {wish!r} in it",
                hint=f"its fields: {', '.join(dict.fromkeys(fields))}",
            )
    for theirs in dict.fromkeys(fields):
        first, dot, rest = theirs.partition(".")
        bare = rest if dot and first in _NAMESPACES else theirs
        ours = wished.get(theirs) or re.sub(r"\W+", "_", bare)
        if not ours.isidentifier():
            raise InputError(
                f"{ours!r} cannot be the name of a field", hint=f"say --field {theirs}=NAME"
            )
        if ours in names.values():
            raise InputError(f"two fields would be called {ours!r}", hint="say --field THEIRS=OURS")
        if ours != theirs:
            notes.append(f"Its field {theirs} is {ours} here.")
        names[theirs] = ours
    return names


def _criteria(
    text: str, units: Sequence[Unit], judge: ForeignJudge, options: AddOptions
) -> Span | None:
    if options.criteria is None:
        if judge.criteria and (at := text.find(judge.criteria)) >= 0:
            return Span(start=at, end=at + len(judge.criteria))
        found = find_criteria(text, units)
        return found and _trimmed(text, found)
    span = criteria_between(text, options.criteria)
    if FIELD in text[span.start : span.end]:
        raise InputError(
            "a field of the row stands inside the criteria",
            hint="name the words before it, or after it",
        )
    return span


def criteria_between(text: str, words: str) -> Span:
    """Return where words stand in a text, from the first to the last where there is `...` between
    them.

    Raises:
        InputError: They do not stand there.
    """
    first, ellipsis, last = (side.strip() for side in words.partition("..."))
    start = text.find(first)
    end = text.find(last, start) if ellipsis else start
    if not first or start < 0 or end < 0:
        raise InputError(
            f"the criteria {words!r:.80} do not stand in the prompt",
            hint="copy their first and last words",
        )
    return Span(start=start, end=end + len(last if ellipsis else first))


def _trimmed(text: str, span: Span) -> Span:
    words = text[span.start : span.end]
    return Span(
        start=span.start + len(words) - len(words.lstrip()),
        end=span.end - len(words) + len(words.rstrip()),
    )


def _prompt(
    judge: ForeignJudge,
    options: AddOptions,
    parts: Sequence[TemplatePart],
    text: str,
    units: Sequence[Unit],
    criteria: Span,
    answer: StatedAnswer,
    notes: list[str],
) -> JudgePrompt:
    """Cut the text: before the row, the row with its labels, after it. The criteria have their
    place in the first.
    """
    start, end = _row(text, units)
    head, row, tail = _literal_cut(parts, text, start, end)
    moved = not criteria.end <= start
    words = text[criteria.start : criteria.end]
    if not moved:
        system = text[: criteria.start] + CRITERIA_PLACE + text[criteria.end : start]
    else:
        cut = _with_heading(text, units, criteria)
        carried = text[cut.start : criteria.start] + CRITERIA_PLACE + text[criteria.end : cut.end]
        system = "\n\n".join(part for part in (head.strip(), carried.strip()) if part)
        notes.append(
            "Its criteria stand after a field of the row; here they stand before, where"
            " optimization edits them."
        )
        if criteria.start >= end:
            tail = text[end : cut.start] + text[cut.end :]
        else:
            row = _without(parts, text, start, end, cut)
    if CRITERIA_PLACE in head or CRITERIA_PLACE in words:
        raise InputError(
            f"its text holds {CRITERIA_PLACE}, which is the place of the criteria here",
            hint="rename the field",
        )
    reply, schema, mark = tail.strip(), dict(answer.reply_schema), answer.reply_mark
    if (
        not answer.told
        or not re.search(r"\w", text)
        or (judge.reply_schema and not judge.unreadable)
    ):
        assert answer.scale is not None
        texts = [name for name, kind in schema.items() if kind == "text"] or ["reason"]
        score = next((name for name, kind in schema.items() if kind == "score"), "score")
        clause, added = reply_clause(answer.scale, overrides=False, reasons=texts, score=score)
        reply, schema, mark = "\n\n".join(part for part in (reply, clause) if part), dict(added), ""
        notes.append("It does not say how to answer: a sentence of Judgewright's at its end does.")
    notes.append("Judgewright adds a notice that fenced text is data, and fences round fields.")
    name = re.sub(r"[^a-z0-9]+", "_", judge.name.lower()).strip("_")[:64]
    assert answer.scale is not None
    return JudgePrompt(
        name=options.name or name or "own",
        system=system.strip(),
        criteria=words,
        template=our_template(row).strip("\n"),
        reply=reply,
        reply_schema=schema,
        reply_mark="" if schema else mark,
        scale=answer.scale,
    )


def _row(text: str, units: Sequence[Unit]) -> tuple[int, int]:
    """Return where the row begins, with the label or tag before its first field, and where it
    ends.
    """
    with_field = [at for at, unit in enumerate(units) if FIELD in text[unit.start : unit.end]]
    first, last = with_field[0], with_field[-1]
    at = first - 1
    while at >= 0:
        words = text[units[at].start : units[at].end]
        if units[at].kind in ("row", "heading") or (
            units[at].kind == "tag" and not words.strip().startswith("</")
        ):
            first = at
        elif units[at].kind != "blank" or (first - at > 1):
            break
        at -= 1
    while last + 1 < len(units) and units[last + 1].kind == "tag":
        words = text[units[last + 1].start : units[last + 1].end].strip()
        if not re.match(r"</|\[(?:the )?end|[\"'`=~-]{3}", words, re.IGNORECASE):
            break
        last += 1
    return units[first].start, units[last].end


def _literal_cut(
    parts: Sequence[TemplatePart], text: str, start: int, end: int
) -> tuple[str, tuple[TemplatePart, ...], str]:
    return text[:start], _without(parts, text, start, end, None), text[end:]


def _without(
    parts: Sequence[TemplatePart], text: str, start: int, end: int, cut: Span | None
) -> tuple[TemplatePart, ...]:
    """Return the parts between two places of the text, without a stretch of it."""
    kept: list[TemplatePart] = []
    fields = iter([part for part in parts if isinstance(part, Field)])
    for at, letter in enumerate(text):
        part: TemplatePart = next(fields) if letter == FIELD else letter
        if start <= at < end and not (cut and cut.start <= at < cut.end):
            kept.append(part)
    return join_literals(kept)


def _with_heading(text: str, units: Sequence[Unit], criteria: Span) -> Span:
    """Return the criteria with the heading over them, or the tags round them."""
    start, end = criteria.start, criteria.end
    above = next(
        (u for u in reversed(units) if u.end <= criteria.start and u.kind != "blank"), None
    )
    below = next((u for u in units if u.start >= criteria.end and u.kind != "blank"), None)
    if above and above.kind in ("heading", "tag"):
        start = above.start
        if (
            above.kind == "tag"
            and below
            and below.kind == "tag"
            and "/" in text[below.start : below.end]
        ):
            end = below.end
    return Span(start=start, end=end)


def _marked(
    text: str, units: Sequence[Unit], criteria: Span | None, names: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the text line by line with what each was taken for; of a line with several sentences,
    the criteria.
    """
    fields = iter(names)
    lines: list[tuple[str, str]] = []
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        kinds = [unit.kind for unit in units if unit.start < end and unit.end > start]
        kind = (
            "criteria"
            if criteria and criteria.start < end and criteria.end > start
            else next(iter(kinds), "")
        )
        shown = re.sub(FIELD, lambda _: f"{{{{{next(fields)}}}}}", line)
        lines.append(
            ({"criteria": "criteria", "answer": "answer", "row": "row"}.get(kind, ""), shown)
        )
        start = end + 1
    return tuple(lines)
