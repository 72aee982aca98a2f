"""What is known of a person's prompt before it is saved as a judge: by their options, by its tool,
and by a model's reading. What nobody says is asked; the words and fields stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...judges import (
    CRITERIA_PLACE,
    MARKED_PLACES,
    InputError,
    JudgePrompt,
    OutputScale,
    cases_of_replies,
)
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .add_options import AddOptions
from .answer_format import own_words, reply_clause
from .bounded import bounded
from .demonstrations import read_demonstrations
from .foreign_judge import ForeignJudge, Question
from .model_reading import NO_READING, ModelReading
from .placeholders import as_name, by_order, our_template, with_marks
from .reply_scale import describe_default, read_scale, read_threshold

FIELD = "\ufffc"
"""Stands for a field in the text of a prompt."""
MAX_LABEL = 200
"""Characters beside a field that still count as its label, not as instructions."""
_NAMESPACES = frozenset(
    ("json", "sys", "item", "sample", "vars", "row", "data", "record", "example", "inputs")
)
"""What stands before the dot of a field in tools that group a row's fields."""


_FIRST_WORDS = re.compile(r"(?:\S+ ){0,3}\S+")
_LAST_WORDS = re.compile(r"(?:\S+ ){0,3}\S+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """Where the verdict stands in a reply, as `JudgePrompt` has it."""

    schema: Mapping[str, str] = field(default_factory=dict[str, str])
    mark: str = ""
    clause: str = ""
    """Words of ours that ask for it, where the prompt's own do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """A prompt with all that is known of it, and what is not."""

    judge: ForeignJudge
    prompt: JudgePrompt | None
    """None while a question is open."""
    questions: tuple[Question, ...]
    marked: tuple[tuple[str, str], ...]
    """The text line by line, each with what it was taken for."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The prompt's own name of each field to the one it has here."""
    scale: OutputScale | None = None
    criteria_lines: tuple[int, int] | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    """The options that would say what is known, with their values."""
    notes: tuple[str, ...] = ()
    """What is not as it was there, in whole sentences."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where words stand in a text."""

    start: int
    end: int


@bounded()
def understand(
    judge: ForeignJudge, options: AddOptions, reading: ModelReading = NO_READING
) -> Understood:
    """Put together what is known of a prompt, and make a judge of it or say what is to be asked.

    Args:
        judge: The prompt as it stands.
        options: What the person says; it goes before all else.
        reading: What a model says of it, already looked up in its text.

    Raises:
        InputError: It has a message that cannot be kept, or an option does not fit.
    """
    notes = list(judge.notes)
    questions: list[Question] = []
    known_options: dict[str, str] = {}
    messages, options = _with_places(judge, options, reading)
    messages = _filled(judge, messages, options, notes)
    before, demonstrations, last = _conversation(messages)
    parts = _joined([*before, last])
    names = _names([p.name for p in parts if isinstance(p, Field)], options.fields, notes)
    text = "".join(FIELD if isinstance(part, Field) else part for part in parts)
    questions += _on_fields(names, options, reading)
    scale = read_scale(judge, options, reading, questions)
    if scale:
        scale = read_threshold(scale, judge, options, reading, questions)
        known_options |= _scale_options(scale)
        describe_default(scale, judge, options, reading, notes)
    form = _reply_form(text, judge, options, reading, scale, questions)
    known_options |= _form_options(form)
    span = _criteria(text, judge, options, reading, questions)
    if span:
        known_options["criteria"] = _first_and_last(text[span.start : span.end])
    row = _row(text, span) if names else Span(0, 0)
    field_names = [names[part.name] for part in parts if isinstance(part, Field)]
    prompt = None
    if not questions and scale and form and span:
        layout = _layout(text, span, row, field_names)
        notes += layout.notes
        if form.clause:
            notes.append(
                "It does not say how to answer: a sentence of Judgewright's at its end does."
            )
        notes.append("Judgewright adds a notice that fenced text is data, and fences round fields.")
        clause = "\n\n".join(part for part in (layout.reply, form.clause) if part)
        prompt = JudgePrompt(
            name=options.name or _slug(judge.name),
            system=layout.system,
            criteria=text[span.start : span.end],
            template=layout.template,
            reply=clause,
            reply_schema=form.schema,
            reply_mark=form.mark,
            scale=scale,
            note=" ".join([f"Added from {judge.tool}, {judge.location}.", *notes]),
        )
        if demonstrations:
            replies = read_demonstrations(demonstrations, last, names)
            cases = cases_of_replies(replies, prompt.reply_form, scale)
            prompt = replace(prompt, cases=cases)
            notes.append(
                f"Its {len(replies)} demonstrations stand as decided cases before the row, no"
                " longer as turns of the chat."
            )
    return Understood(
        judge=judge,
        prompt=prompt,
        questions=tuple(questions),
        marked=_marked(text, span, row, field_names),
        fields=names,
        scale=scale,
        criteria_lines=_lines(text, span) if span else None,
        known=known_options,
        notes=tuple(notes),
    )


def _with_places(
    judge: ForeignJudge, options: AddOptions, reading: ModelReading
) -> tuple[list[TemplateMessage], AddOptions]:
    """Put a field into each place that the person or the model names by a mark in the text."""
    present = {p.name for m in judge.messages for p in m.parts if isinstance(p, Field)}
    texts = [p for m in judge.messages for p in m.parts if isinstance(p, str)]
    marks = {
        mark: name
        for mark, name in options.fields.items()
        if mark not in present and any(mark in text for text in texts)
    }
    for row_mark in reading.places:
        name = as_name(row_mark)
        in_text = any(row_mark in text for text in texts) and not by_order(row_mark)
        if in_text and row_mark not in marks and name not in present and name.isidentifier():
            marks[row_mark] = name
    messages = [replace(m, parts=with_marks(m.parts, marks)) for m in judge.messages]
    fields = {marks.get(theirs, theirs): ours for theirs, ours in options.fields.items()}
    return messages, replace(options, fields=fields)


def _filled(
    judge: ForeignJudge,
    messages: Sequence[TemplateMessage],
    options: AddOptions,
    notes: list[str],
) -> list[TemplateMessage]:
    """Put fixed text in the place of fields that are no row's, or that the user fills."""
    present = {p.name for m in messages for p in m.parts if isinstance(p, Field)}
    for name in options.fills:
        if name not in present:
            fields = ", ".join(sorted(present))
            raise InputError(f"there is no field {name!r} to fill", hint=f"its fields: {fields}")
    fills = {n: text for n, text in {**judge.fills, **options.fills}.items() if n in present}
    for name, text in fills.items():
        content = f"the same {len(text):,} characters" if text.strip() else "left empty"
        notes.append(f"Its field {name} is {content} in every row.")
    filled: list[TemplateMessage] = []
    for message in messages:
        parts = (
            fills.get(part.name, part) if isinstance(part, Field) else part
            for part in message.parts
        )
        filled.append(replace(message, parts=join_literals(parts)))
    return filled


def _conversation(
    messages: Sequence[TemplateMessage],
) -> tuple[list[TemplateMessage], list[tuple[TemplateMessage, TemplateMessage]], TemplateMessage]:
    """Return system messages, demonstrations, and the message that shows the row."""
    *rest, last = messages
    system = [message for message in rest if message.role == "system"]
    turns = [message for message in rest if message.role != "system"]
    roles = [message.role for message in turns]
    paired = roles == ["user", "assistant"] * (len(turns) // 2)
    if last.role != "user" or not paired or rest[: len(system)] != system:
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
            listed = ", ".join(dict.fromkeys(fields)) or "none"
            raise InputError(f"there is no field {wish!r} in it", hint=f"its fields: {listed}")
    for theirs in dict.fromkeys(fields):
        first, dot, rest = theirs.partition(".")
        bare = rest if dot and first in _NAMESPACES else theirs
        ours = wished.get(theirs) or as_name(bare)
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


def _on_fields(
    names: Mapping[str, str], options: AddOptions, reading: ModelReading
) -> list[Question]:
    """Ask where the texts of a row go, and about each field that the model takes for none."""
    ordered = [row_mark for row_mark in reading.places if by_order(row_mark)]
    if ordered:
        text = f"which field is each {' and '.join(ordered)}? They have no names, only an order"
        return [Question("field", text, "write {name} in the place of each in the file")]
    if not names:
        text = "where in it do the texts of a row go?"
        form = "--field MARK=NAME, the mark as it stands there, such as --field '[REPLY]=reply'"
        return [Question("field", text, form)]
    places = {as_name(row_mark) for row_mark in reading.places}
    doubtful = [
        name
        for name in names
        if places and name not in options.fields and as_name(name) not in places
    ]
    text = "is {} a text of each row? The model takes it for one that the file fills"
    return [
        Question(
            "fill",
            text.format(name),
            f"--field {name}={names[name]}, or --fill {name}=TEXT",
            (name, names[name]),
        )
        for name in doubtful
    ]


def _reply_form(
    text: str,
    judge: ForeignJudge,
    options: AddOptions,
    reading: ModelReading,
    scale: OutputScale | None,
    questions: list[Question],
) -> ReplyForm | None:
    """Return where the verdict stands in a reply: as the person, the tool or the model says."""
    verdict = options.verdict
    if verdict and ("..." in verdict or verdict in MARKED_PLACES):
        return ReplyForm(mark=verdict)
    if verdict:
        fields = options.reply_fields or tuple(judge.reply_schema or ()) or reading.reply_fields
        if verdict not in fields and (fields or f"{verdict}:" in text):
            raise InputError(
                f"the answer has no field {verdict!r}",
                hint=f"its fields: {', '.join(fields) or 'none known (--reply FIELD,FIELD)'};"
                f" of a text say --verdict '{verdict}: ...'",
            )
        return ReplyForm(schema=_schema(fields or (verdict,), verdict, reading.confidence))
    if judge.asks_beside or reading.unsaid:
        if scale is None:
            return None
        schema = judge.reply_schema or {}
        if not schema and reading.verdict in reading.reply_fields:
            schema = _schema(reading.reply_fields, reading.verdict, reading.confidence)
        texts = [name for name, kind in schema.items() if kind == "text"] or ["reason"]
        score = next((name for name, kind in schema.items() if kind == "score"), "score")
        clause, added = reply_clause(scale, reasons=texts, score=score)
        return ReplyForm(schema=dict(added), clause=clause)
    if judge.reply_schema or judge.reply_mark:
        return ReplyForm(schema=dict(judge.reply_schema or {}), mark=judge.reply_mark)
    if reading.reply_fields and reading.verdict:
        return ReplyForm(schema=_schema(reading.reply_fields, reading.verdict, reading.confidence))
    if reading.verdict:
        return ReplyForm(mark=reading.verdict)
    if reading.reply_fields:
        listed = ", ".join(reading.reply_fields)
        questions.append(
            Question("verdict", f"which of {listed} is the verdict?", "--verdict FIELD")
        )
        return None
    form = (
        "--verdict 'Score: ...', '[[...]]', start, 'last line' or 'last word' of a text;"
        " --verdict FIELD of JSON, with --reply FIELD,FIELD where it has more fields"
    )
    questions.append(Question("verdict", "where in an answer does the verdict stand?", form))
    return None


def _schema(fields: Sequence[str], verdict: str, confidence: str) -> dict[str, str]:
    kinds = {verdict: "score"} | ({confidence: "confidence"} if confidence else {})
    return {name: kinds.get(name, "text") for name in fields}


def _criteria(
    text: str,
    judge: ForeignJudge,
    options: AddOptions,
    reading: ModelReading,
    questions: list[Question],
) -> Span | None:
    """Return where the criteria stand, as the person, the tool or the model says."""
    stated = judge.criteria.strip()
    if options.criteria is not None:
        span = _span_of(text, options.criteria)
        if span is None:
            raise InputError(
                f"the criteria {options.criteria!r:.80} do not stand in the prompt",
                hint="copy their first and last words",
            )
        if FIELD in text[span.start : span.end]:
            raise InputError(
                "a field of the row stands inside the criteria",
                hint="name the words before it, or after it",
            )
        return span
    if stated and (at := text.find(stated)) >= 0:
        return Span(at, at + len(stated))
    read = _span_of(text, reading.criteria)
    if read and FIELD not in text[read.start : read.end]:
        return _with_marks_of_line(text, read)
    text = "which of its words are the criteria, which optimization may edit?"
    questions.append(Question("criteria", text, "--criteria 'FIRST WORDS ... LAST WORDS'"))
    return None


def _span_of(text: str, words: str) -> Span | None:
    """Return where words stand in a text, from the first to the last where there is `...` between
    them; None where they do not.
    """
    first, ellipsis, last = (side.strip() for side in words.partition("..."))
    start = text.find(first)
    end = text.find(last, start) if ellipsis else start
    if not first or start < 0 or end < 0:
        return None
    return Span(start, end + len(last if ellipsis else first))


def _with_marks_of_line(text: str, span: Span) -> Span:
    """Return words with what marks them on their first and last line, such as `1.` or a bracket."""
    start = text.rfind("\n", 0, span.start) + 1
    end = (text + "\n").find("\n", span.end)
    before, after = text[start : span.start], text[span.end : end]
    if any(map(str.isalpha, before)) or FIELD in before:
        start = span.start
    if any(map(str.isalnum, after)) or FIELD in after:
        end = span.end
    words = text[start:end]
    lead = len(words) - len(words.lstrip())
    return Span(start + lead, start + len(words.rstrip()))


def _row(text: str, criteria: Span | None) -> Span:
    """Return where the row stands: from the label before its first field to what closes its
    last.
    """
    first, last = text.find(FIELD), text.rfind(FIELD) + 1
    start = text.rfind("\n\n", 0, first) + 2 if "\n\n" in text[:first] else 0
    if first - start > MAX_LABEL:
        start = text.rfind("\n", 0, first) + 1
    end = text.find("\n\n", last)
    end = len(text) if end < 0 else end
    if end - last > MAX_LABEL:
        end = (text + "\n").find("\n", last)
    if criteria and criteria.end <= first:
        start = max(start, criteria.end)
    if criteria and criteria.start >= last:
        end = min(end, criteria.start)
    return Span(start, end)


@dataclass(frozen=True, slots=True)
class _Layout:
    """A prompt cut into the parts of a judge."""

    system: str
    template: str
    reply: str
    notes: tuple[str, ...] = ()


def _layout(text: str, criteria: Span, row: Span, names: Sequence[str]) -> _Layout:
    """Cut a text: before the row, the row with its labels, after it. The criteria have their place
    in the first.
    """
    if CRITERIA_PLACE in text:
        raise InputError(
            f"its text holds {CRITERIA_PLACE}, which is the place of the criteria here",
            hint="rename the field",
        )
    head, middle, tail = text[: row.start], text[row.start : row.end], text[row.end :]
    notes: tuple[str, ...] = ()
    if criteria.end <= row.start:
        system = text[: criteria.start] + CRITERIA_PLACE + text[criteria.end : row.start]
    else:
        cut = _with_heading(text, criteria)
        carried = text[cut.start : criteria.start] + CRITERIA_PLACE
        system = "\n\n".join(part for part in (head.strip(), carried.strip()) if part)
        note = "Its criteria stand after a field of the row; here they stand before it."
        notes = (note,)
        if criteria.start >= row.end:
            tail = text[row.end : max(cut.start, row.end)] + text[cut.end :]
        else:
            middle = text[row.start : cut.start] + text[cut.end : row.end]
    if system.strip() == CRITERIA_PLACE:
        system = f"{own_words()['system']}\n\n{CRITERIA_PLACE}"
        notes += ("It has no text before its criteria: a line of Judgewright's stands there.",)
    pieces = middle.split(FIELD)
    parts: list[TemplatePart] = [pieces[0]]
    for name, piece in zip(names, pieces[1:], strict=True):
        parts += [Field(name), piece]
    return _Layout(system.strip(), our_template(parts).strip("\n"), tail.strip(), notes)


def _with_heading(text: str, span: Span) -> Span:
    """Return words with the heading on the line before them."""
    line = text.rfind("\n", 0, max(0, span.start - 1)) + 1
    heading = text[line : span.start].strip()
    is_heading = heading.startswith("#") or heading.endswith(":")
    return Span(line, span.end) if is_heading and FIELD not in heading else span


def _scale_options(scale: OutputScale) -> dict[str, str]:
    threshold = scale.name(scale.threshold) if scale.kind == "graded" else ""
    if scale.labels:
        options = {"labels": ",".join(scale.labels)}
        if scale.kind == "choice":
            options["choice"] = ""
        elif threshold:
            options["threshold"] = threshold
        return options
    if scale.kind == "graded":
        return {"scale": f"{scale.low}..{scale.high}@{threshold}"}
    return {"scale": "low-probability" if scale.low_is_good else scale.kind}


def _form_options(form: ReplyForm | None) -> dict[str, str]:
    if form is None or form.clause:
        return {}
    if form.mark:
        return {"verdict": form.mark}
    verdict = next(name for name, kind in form.schema.items() if kind == "score")
    return {"verdict": verdict, "reply": ",".join(form.schema)}


def _first_and_last(words: str) -> str:
    """Return words as `--criteria` takes them: the first and last of a longer text."""
    first = _FIRST_WORDS.match(words)
    last = _LAST_WORDS.search(words)
    if first is None or last is None or first.end() >= last.start():
        return words
    return f"{first[0]} ... {last[0]}"


def _marked(
    text: str, span: Span | None, row: Span, names: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the text line by line with what each was taken for."""
    fields = iter(names)
    lines: list[tuple[str, str]] = []
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if span and span.start < end and span.end > start:
            kind = "criteria"
        elif row.start < end and row.end > start:
            kind = "row"
        else:
            kind = ""
        pieces = line.split(FIELD)
        line_text = pieces[0] + "".join(f"{{{{{next(fields)}}}}}{piece}" for piece in pieces[1:])
        lines.append((kind, line_text))
        start = end + 1
    return tuple(lines)


def _lines(text: str, span: Span) -> tuple[int, int]:
    return text.count("\n", 0, span.start) + 1, text.count("\n", 0, span.end) + 1


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64] or "own"
