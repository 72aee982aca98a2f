"""Convert a foreign judge to a JudgePrompt: keep its words in their order, and say what is
different.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...judges import CRITERIA_PLACE, InputError, JudgePrompt, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .answer_format import own_words, reply_clause
from .field_names import our_names
from .foreign_judge import ForeignJudge, ImportedJudge, ImportOptions
from .stated_answer import StatedAnswer, read_answer
from .template_syntaxes import our_template
from .text_units import read_units, words_on_answer

MAX_LABEL = 200
"""Characters of text beside a field that still count as its label, not as instructions."""


def convert(judge: ForeignJudge, options: ImportOptions) -> ImportedJudge:
    """Make a judge of ours.

    The words of the tool stay, in their order: what comes before the row is system text and
    criteria, what stands round its fields is the template, what comes after it is the reply clause.

    Raises:
        InputError: It has no fields, no scale can be read, fields stand in demonstrations, or an
            option does not fit.
    """
    differences: list[str] = []
    messages = fill_fixed(judge, options, differences)
    system_text, user = _one_user_message(messages, differences)
    fields = [part.name for part in user if isinstance(part, Field)]
    if not fields:
        raise InputError(
            f"{judge.name} has no field for a row",
            hint="write {field} or {{field}} where a row's text goes",
        )
    names = our_names(fields, options.fields)
    differences += [
        f"Its field {theirs} is {ours} here." for theirs, ours in names.items() if theirs != ours
    ]
    renamed = [Field(names[part.name]) if isinstance(part, Field) else part for part in user]
    instructions, template, clause = _cut(system_text, renamed)
    system, criteria = _apart(instructions, judge, options) or _split_instructions(
        instructions, differences
    )
    text = f"{instructions}\n\n{clause}"
    stated = read_answer(words_on_answer(text, read_units(text)), text)
    scale = _scale(judge, options, stated, differences)
    reply, schema, mark = _reply(judge, clause, stated, scale, differences)
    differences += judge.notes
    heading = "" if CRITERIA_PLACE in system else "the heading 'Criteria:', "
    differences.append(
        f"Judgewright adds {heading}a notice that fenced text is data, and fences round fields."
    )
    tool = judge.tool.split()[0] if judge.tool else ""
    name = re.sub(r"[^a-z0-9]+", "_", f"{tool}_{judge.name}".lower()).strip("_")[:64]
    prompt = JudgePrompt(
        name=options.name or name or "imported",
        system=system,
        criteria=criteria,
        template=template,
        reply=reply,
        reply_schema=schema,
        reply_mark=mark,
        scale=scale,
        note=" ".join([f"Read from {judge.tool}, {judge.location}: {judge.name}.", *differences]),
    )
    return ImportedJudge(
        prompt=prompt,
        tool=judge.tool,
        location=judge.location,
        syntax=judge.syntax,
        fields=names,
        differences=tuple(differences),
    )


def fill_fixed(
    judge: ForeignJudge, options: ImportOptions, differences: list[str]
) -> list[TemplateMessage]:
    """Put fixed text in the place of fields that are no row's, or that the user fills."""
    present = {
        part.name for message in judge.messages for part in message.parts if isinstance(part, Field)
    }
    for name in options.fills:
        if name not in present:
            raise InputError(
                f"there is no field {name!r} to fill",
                hint=f"its fields: {', '.join(sorted(present))}",
            )
    for name, reason in judge.needs.items():
        if name in present and name not in options.fills:
            raise InputError(reason, hint=f"give it with --fill {name}=TEXT or --fill {name}=@FILE")
    fills = {
        name: text for name, text in {**judge.fills, **options.fills}.items() if name in present
    }
    for name, text in fills.items():
        content = (
            f"the same {len(text):,} characters in every row"
            if text.strip()
            else "left empty in every row"
        )
        differences.append(f"Its field {name} is {content}.")
    messages = []
    for message in judge.messages:
        parts: list[TemplatePart] = []
        for part in message.parts:
            if isinstance(part, Field) and part.name in fills:
                parts.append(fills[part.name])
            else:
                parts.append(part)
        messages.append(TemplateMessage(role=message.role, parts=join_literals(parts)))
    return messages


def _one_user_message(
    messages: Sequence[TemplateMessage], differences: list[str]
) -> tuple[str, tuple[TemplatePart, ...]]:
    """Return the system text, and the message that shows the row; a system message with fields
    joins the user's.
    """
    *before, user = messages
    if user.role != "user" or any(message.role != "system" for message in before):
        roles = [message.role for message in messages]
        raise InputError(f"the roles are {roles}: a system message, if any, then one user message")
    system = []
    for message in before:
        if any(isinstance(part, Field) or part.strip() for part in message.parts):
            system.append(message)
    if not any(isinstance(part, Field) for message in system for part in message.parts):
        return "\n\n".join(message.text({}) for message in system), user.parts
    differences.append(
        "Its system message holds fields of the row: it stands in the user message here."
    )
    parts: list[TemplatePart] = []
    for message in system:
        parts += [*message.parts, "\n\n"]
    return "", join_literals([*parts, *user.parts])


def _cut(system_text: str, user: Sequence[TemplatePart]) -> tuple[str, str, str]:
    """Return instructions, template and reply clause: the text before the row, round its fields,
    and after it.
    """
    instructions = label = closing = clause = ""
    first, *middle = user
    if isinstance(first, str):
        instructions, label = _cut_head(first)
    else:
        middle = [first, *middle]
    if middle and isinstance(middle[-1], str):
        closing, clause = _cut_tail(middle[-1])
        middle = middle[:-1]
    text = "\n\n".join(part for part in (system_text.strip(), instructions.strip()) if part)
    return text, our_template([label.lstrip("\n"), *middle, closing.rstrip("\n")]), clause.strip()


def _cut_head(text: str) -> tuple[str, str]:
    """Cut before the paragraph that leads to the first field, or its line where the paragraph is
    long.
    """
    for separator in ("\n\n", "\n"):
        instructions, _, label = text.rpartition(separator)
        if len(label) <= MAX_LABEL:
            return instructions, label
    return "", text


def _cut_tail(text: str) -> tuple[str, str]:
    """Cut after the paragraph that closes the last field, or its line where the paragraph is
    long.
    """
    for separator in ("\n\n", "\n"):
        closing, _, clause = text.partition(separator)
        if len(closing) <= MAX_LABEL:
            return closing, clause
    return text, ""


def _apart(
    instructions: str, judge: ForeignJudge, options: ImportOptions
) -> tuple[str, str] | None:
    """Return system text with a place for the criteria, and the criteria that the tool or its user
    states.
    """
    stated = next(
        (options.fills[name] for name in judge.needs if name in options.fills), judge.criteria
    ).strip()
    before, found, after = instructions.rpartition(stated) if stated else ("", "", "")
    if not found or CRITERIA_PLACE in instructions:
        return None
    return before + CRITERIA_PLACE + after, stated


def _split_instructions(instructions: str, differences: list[str]) -> tuple[str, str]:
    """Return system text and criteria: the first paragraph, line or sentence, and the rest."""
    ours = own_words()
    if not instructions:
        differences.append(
            "It has no text before the row's: the system message says only that the user message"
            " tells."
        )
        return ours["system"], ours["criteria"]
    for separator in (r"\n[ \t]*\n", r"\n", r"(?<=[.!?:]) "):
        first, *rest = re.split(separator, instructions, maxsplit=1)
        if rest and first.strip() and rest[0].strip():
            return first.strip(), rest[0].strip()
    differences.append(
        "Its instructions are one sentence: the line before the criteria is Judgewright's."
    )
    return ours["system"], instructions


def _scale(
    judge: ForeignJudge, options: ImportOptions, stated: StatedAnswer, differences: list[str]
) -> OutputScale:
    if options.scale:
        differences.append(f"The scale is {options.scale.describe()}, as you said.")
        return options.scale
    scale = judge.scale or stated.scale
    if scale is None:
        raise InputError(
            f"{judge.name} does not say on what scale it judges",
            hint="say --scale 0..3, 1..5@4, binary",
        )
    differences.append(f"The scale is {scale.describe()}.")
    return scale


def _reply(
    judge: ForeignJudge,
    clause: str,
    stated: StatedAnswer,
    scale: OutputScale,
    differences: list[str],
) -> tuple[str, dict[str, str], str]:
    """Return the reply clause, its JSON fields and its mark: the tool's own words where they can be
    read.
    """
    schema, mark, unreadable = judge.reply_schema, "", judge.unreadable
    if schema is None and not unreadable:
        schema, mark = stated.reply_schema, stated.reply_mark
        if not stated.told:
            unreadable = "its words do not say how to answer"
        elif any(question.option == "verdict" for question in stated.questions):
            unreadable = "its words name several fields that may be the verdict"
    if schema is None or unreadable:
        ours, schema = reply_clause(scale)
        differences.append(
            f"Reply clause replaced: {unreadable}; a clause of ours after the tool's words"
            " overrides them."
        )
        return "\n\n".join(part for part in (clause, ours) if part), dict(schema), ""
    score = next((name for name, kind in schema.items() if kind == "score"), None)
    form = f"JSON with the grade in {score!r}" if score else "prose"
    differences.append(f"The reply is asked for in the tool's own words and read as {form}.")
    return clause, dict(schema), "" if schema else mark
