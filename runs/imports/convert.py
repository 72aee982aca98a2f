"""Make a JudgePrompt of a judge found elsewhere, keep its words in their order, and say what is different."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...judges import InputError, JudgePrompt, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from .fields import our_names
from .foreign_judge import Found, Imported, Wishes
from .reply_words import own_words, read_reply_schema, read_scale, reply_clause
from .template_syntaxes import joined
from .templates import placed

BLOCK = 200
"""Characters of text beside a field that still count as its label, not as instructions."""


def adopt(found: Found, wishes: Wishes) -> Imported:
    """Make a judge of ours.

    The words of the tool stay, in their order: what comes before the row is system text and criteria, what stands round
    its fields is the template, what comes after it is the reply clause.

    Raises:
        InputError: It has no fields, a scale nobody tells, fields in demonstrations, or a wish cannot be met.
    """
    told = [f"Read from {found.tool}, {found.place}: {found.name}."]
    messages = _filled(found, wishes, told)
    before, user = _one_user_message(messages, told)
    fields = [s.name for s in user if isinstance(s, Field)]
    if not fields:
        raise InputError(
            f"{found.name} has no field for a row", hint="write {field} or {{field}} where a row's text goes"
        )
    names = our_names(fields, wishes.fields)
    told += [f"Its field {theirs} is {ours} here." for theirs, ours in names.items() if theirs != ours]
    segments = [Field(names[s.name]) if isinstance(s, Field) else s for s in user]
    instructions, template, clause = _cut(before, segments)
    system, criteria = _split(instructions, told)
    scale = wishes.scale or found.scale or read_scale(f"{clause}\n{instructions}")
    if scale is None:
        raise InputError(f"{found.name} does not say on what scale it judges", hint="say --scale 0..3, 1..5@4, binary")
    told.append(f"The scale is {scale.describe()}" + (", as you said." if wishes.scale else "."))
    reply, schema = _reply(found, clause, instructions, scale, told)
    told += found.notes
    told.append("Judgewright adds the heading 'Criteria:', a notice that fenced text is data, and fences round fields.")
    prompt = JudgePrompt(
        name=wishes.name or _name(found),
        system=system,
        criteria=criteria,
        template=template,
        reply=reply,
        reply_schema=schema,
        scale=scale,
        note=" ".join(told),
    )
    return Imported(
        prompt=prompt,
        tool=found.tool,
        place=found.place,
        dialect=found.dialect,
        fields=names,
        differences=tuple(told[1:]),
    )


def _filled(found: Found, wishes: Wishes, told: list[str]) -> list[TemplateMessage]:
    """Put fixed text in the place of fields that are no row's, or that the user fills."""
    present = {s.name for m in found.messages for s in m.segments if isinstance(s, Field)}
    if unknown := next((name for name in wishes.fills if name not in present), None):
        raise InputError(f"there is no field {unknown!r} to fill", hint=f"its fields: {', '.join(sorted(present))}")
    if missing := next((name for name in found.needs if name in present and name not in wishes.fills), None):
        raise InputError(found.needs[missing], hint=f"give it with --fill {missing}=TEXT or --fill {missing}=@FILE")
    fills = {name: text for name, text in {**found.fills, **wishes.fills}.items() if name in present}
    for name, text in fills.items():
        what = f"the same {len(text):,} characters in every row" if text.strip() else "left empty in every row"
        told.append(f"Its field {name} is {what}.")
    return [
        TemplateMessage(
            role=m.role,
            segments=joined([fills[s.name] if isinstance(s, Field) and s.name in fills else s for s in m.segments]),
        )
        for m in found.messages
    ]


def _one_user_message(messages: Sequence[TemplateMessage], told: list[str]) -> tuple[str, tuple[TemplatePart, ...]]:
    """The system text, and the message that shows the row; a system message with fields joins the user's."""
    *before, user = messages
    if user.role != "user" or any(m.role != "system" for m in before):
        raise InputError(f"the roles are {[m.role for m in messages]}: a system message, if any, then one user message")
    texts = [m.segments for m in before if any(not isinstance(s, str) or s.strip() for s in m.segments)]
    if any(isinstance(s, Field) for segments in texts for s in segments):
        told.append("Its system message holds fields of the row: it stands in the user message here.")
        whole: list[TemplatePart] = []
        for segments in (*texts, user.segments):
            whole += [*(["\n\n"] if whole else []), *segments]
        return "", joined(whole)
    return "\n\n".join("".join(map(str, segments)) for segments in texts), user.segments


def _cut(before: str, user: Sequence[TemplatePart]) -> tuple[str, str, str]:
    """Instructions, template and reply clause: the text before the row, round its fields, and after it."""
    first, last = user[0], user[-1]
    instructions, label = _cut_head(first) if isinstance(first, str) else ("", "")
    closing, clause = _cut_tail(last) if isinstance(last, str) else ("", "")
    segments = user[isinstance(first, str) : len(user) - isinstance(last, str)]
    text = "\n\n".join(part for part in (before.strip(), instructions.strip()) if part)
    return text, placed([label.lstrip("\n"), *segments, closing.rstrip("\n")]), clause.strip()


def _cut_head(text: str) -> tuple[str, str]:
    """Cut before the paragraph that leads to the first field, or its line where the paragraph is long."""
    for seam in ("\n\n", "\n"):
        at = text.rfind(seam)
        label = text[at + len(seam) :] if at >= 0 else text
        if len(label) <= BLOCK:
            return (text[:at], label) if at >= 0 else ("", text)
    return "", text


def _cut_tail(text: str) -> tuple[str, str]:
    """Cut after the paragraph that closes the last field, or its line where the paragraph is long."""
    for seam in ("\n\n", "\n"):
        closing, _, clause = text.partition(seam)
        if len(closing) <= BLOCK:
            return closing, clause
    return text, ""


def _split(instructions: str, told: list[str]) -> tuple[str, str]:
    """System text and criteria: the first paragraph, line or sentence, and the rest."""
    stand_ins = own_words()
    if not instructions:
        told.append("It has no text before the row's: the system message says only that the user message tells.")
        return stand_ins["system"], stand_ins["criteria"]
    for seam in (r"\n[ \t]*\n", r"\n", r"(?<=[.!?:]) "):
        first, *rest = re.split(seam, instructions, maxsplit=1)
        if rest and first.strip() and rest[0].strip():
            return first.strip(), rest[0].strip()
    told.append("Its instructions are one sentence: the line before the criteria is Judgewright's.")
    return stand_ins["system"], instructions


def _reply(
    found: Found, clause: str, instructions: str, scale: OutputScale, told: list[str]
) -> tuple[str, dict[str, str]]:
    """The reply clause and its JSON fields: the tool's own words where our reader can read what they ask for."""
    schema = found.reply_schema
    unreadable = found.unreadable
    if schema is None and not unreadable:
        schema = read_reply_schema(clause)
        if schema is None:
            schema = read_reply_schema(instructions)
        if schema is None:
            unreadable = "its words do not say how to answer"
    if schema is None or unreadable:
        own, schema = reply_clause(scale)
        told.append(f"Reply clause replaced: {unreadable}; a clause of ours after the tool's words overrides them.")
        return "\n\n".join(part for part in (clause, own) if part), dict(schema)
    score = next((name for name, kind in schema.items() if kind == "score"), None)
    how = f"JSON with the grade in {score!r}" if score else "prose"
    told.append(f"The reply is asked for in the tool's own words and read as {how}.")
    return clause, dict(schema)


def _name(found: Found) -> str:
    tool = found.tool.split()[0] if found.tool else ""
    stem = re.sub(r"[^a-z0-9_]+", "_", f"{tool}_{found.name}".lower()).strip("_")
    return re.sub(r"_+", "_", stem)[:64] or "imported"
