"""An export of ours read back: the judge's words from the tool's artefact, the rest from the manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...judges import PLACEHOLDER, DecisionRule, Example, InputError, JudgePrompt, OutputScale, Row
from ...judges.prompt import DATA_NOTICE
from ..exports.manifest import Export, read_export
from ..exports.template_parts import Field, TemplatePart, fill, template_messages
from .templates import placed
from .tool_formats import ARTEFACTS, Carried, JudgeFile

_CRITERIA = "\n\nCriteria:\n"
_SCALE = "\n\nScale:\n"
PARTS = ("words", "demonstrations", "scale", "reply fields", "threshold")
"""What a judge is made of, as far as an import tells where it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """A judge read from an export, and where each part of it was read."""

    prompt: JudgePrompt
    exported: str
    """The version that was exported."""
    target: str
    sources: Mapping[str, str]
    """Part of the judge to the file it came from."""
    rule: DecisionRule
    """The rule that was handed over; it may be another than the prompt's own."""

    @property
    def edited(self) -> bool:
        """Whether the words are other ones than those that were exported."""
        return self.prompt.version != self.exported


def read_back(path: Path) -> ReadBack:
    """Read an export of ours: a folder with manifest.json, or a file with one beside it.

    What an artefact says counts before the manifest, so that words edited where the judge was used come back. A part
    that says what the manifest's judge would send is that judge's, with the white space that no tool sends.

    Raises:
        InputError: It is no export; an artefact cannot be read, or two of them were edited and disagree.
    """
    export = read_export(path)
    judge, target = export.judge, export.body["target"]
    manifest = "manifest.json"
    everywhere: dict[str, str] = dict.fromkeys(PARTS, manifest)
    found: dict[str, JudgePrompt] = {}
    sources: dict[str, dict[str, str]] = {}
    for name, artefact in _files(export, target):
        given = _read(export.folder / name, artefact)
        found[name] = _merge(judge, given)
        sources[name] = everywhere | dict.fromkeys(_carries(given), name)
    edited = {prompt.version: name for name, prompt in found.items() if prompt.version != judge.version}
    if len(edited) > 1:
        names = " and ".join(edited.values())
        raise InputError(f"{names} were both edited, and are different judges now", hint="undo one of them")
    name = next(iter(edited.values()), next(iter(found), manifest))
    return ReadBack(
        prompt=found.get(name, judge),
        exported=judge.version,
        target=target,
        sources=sources.get(name, everywhere),
        rule=DecisionRule.from_json(export.body["rule"]),
    )


def _files(export: Export, target: str) -> list[tuple[str, JudgeFile]]:
    known = ARTEFACTS.get(target, ())
    return [(name, artefact) for artefact in known for name in export.body["files"] if name.endswith(artefact.ending)]


def _read(file: Path, artefact: JudgeFile) -> Carried:
    try:
        return artefact.read(file.read_text(encoding="utf-8"))
    except (InputError, OSError, KeyError, IndexError, TypeError, ValueError, SyntaxError) as error:
        told = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{file.name} cannot be read back: {told}") from None


def _carries(given: Carried) -> tuple[str, ...]:
    if given.whole is not None:
        return PARTS
    demonstrations = given.turns is not None or given.examples is not None
    return ("words", *(["demonstrations"] * demonstrations), *(["scale", "threshold"] if given.scale else []))


def _merge(judge: JudgePrompt, given: Carried) -> JudgePrompt:
    """The manifest's judge with what the artefact says in its place."""
    if given.whole is not None:
        return given.whole
    system, criteria, scale = _system_parts(judge, given)
    template, reply = _user_parts(judge, given)
    reply = judge.reply if reply == judge.reply.strip() else reply
    merged = replace(judge, system=system, criteria=criteria, scale=scale, template=template, reply=reply)
    examples = given.examples if given.examples is not None else _examples(judge, merged, given)
    merged = replace(merged, examples=_kept(judge, examples))
    if merged.version == judge.version:
        return judge
    return replace(merged, parent=judge.version, note="")


def _system_parts(judge: JudgePrompt, given: Carried) -> tuple[str, str, OutputScale]:
    scale = given.scale or judge.scale
    text = given.system
    if text is None or text == judge.system_text():
        return judge.system, judge.criteria, scale
    body = text.removesuffix("\n\n" + DATA_NOTICE)
    if body == text:
        raise InputError("the notice that closes the system message was edited; it is the same in every judge")
    if judge.scale.anchors:
        body, found, anchors = body.rpartition(_SCALE)
        if not found:
            raise InputError("the system message has no scale any more")
        scale = replace(scale, anchors=_anchors(judge.scale, anchors))
    # The judge's own system text may hold the heading too: what comes before the criteria has as many of them.
    pieces = body.split(_CRITERIA)
    count = judge.system.strip().count(_CRITERIA) + 1
    if len(pieces) <= count:
        raise InputError("the system message has no criteria any more")
    system, criteria = _CRITERIA.join(pieces[:count]), _CRITERIA.join(pieces[count:])
    return (
        judge.system if system == judge.system.strip() else system,
        judge.criteria if criteria == judge.criteria.strip() else criteria,
        scale,
    )


def _anchors(scale: OutputScale, text: str) -> dict[str, str]:
    if text == "\n".join(f"{grade}: {told}" for grade, told in scale.anchors.items()):
        return dict(scale.anchors)
    pattern = r"\n".join(rf"{re.escape(grade)}: ([\s\S]*)" for grade in scale.anchors)
    found = re.fullmatch(pattern, text)
    if found is None:
        raise InputError(f"the scale in the system message no longer says what {', '.join(scale.anchors)} mean")
    return dict(zip(scale.anchors, found.groups(), strict=True))


def _user_parts(judge: JudgePrompt, given: Carried) -> tuple[str, str]:
    """Template and reply clause; where they are one text, one of the two must be as it was to tell them apart."""
    if given.parts is not None:
        return given.parts
    if given.user is None:
        return judge.template, judge.reply
    segments = _unfenced(given.user)
    tail = segments[-1] if isinstance(segments[-1], str) else ""
    before = segments[:-1] if isinstance(segments[-1], str) else segments
    *_, last = PLACEHOLDER.finditer(judge.template)
    own_tail, clause = judge.template[last.end() :], judge.reply.strip()
    if not clause:
        return placed(segments), ""
    if tail.startswith(own_tail + "\n\n"):
        return placed((*before, own_tail)), tail[len(own_tail) + 2 :]
    if tail.endswith("\n\n" + clause):
        return placed((*before, tail.removesuffix("\n\n" + clause))), clause
    raise InputError("template and reply clause were both edited where they meet; they can no longer be told apart")


def _unfenced(segments: tuple[TemplatePart, ...]) -> list[TemplatePart]:
    """Take the fixed fences off again."""
    out = list(segments)
    for i, segment in enumerate(segments):
        if not isinstance(segment, Field):
            continue
        before, after = out[i - 1] if i else "", out[i + 1] if i + 1 < len(out) else ""
        opened, closed = f"<{segment.name}>\n", f"\n</{segment.name}>"
        if not (isinstance(before, str) and isinstance(after, str)):
            raise InputError(f"the field {segment.name!r} stands in no fence any more")
        if not (before.endswith(opened) and after.startswith(closed)):
            raise InputError(f"the field {segment.name!r} stands in no fence any more")
        out[i - 1], out[i + 1] = before.removesuffix(opened), after.removeprefix(closed)
    return out


def _examples(judge: JudgePrompt, merged: JudgePrompt, given: Carried) -> tuple[Example, ...]:
    """The demonstrations: those of the judge where they are as it would send them, else read off their text."""
    if given.turns is None:
        return judge.examples
    sent = [m["content"] for m in fill(template_messages(judge)[1:-1], {})]
    own_fences = [str(m.content) for m in judge.messages(Row(id="", inputs=dict.fromkeys(judge.inputs, "")))[1:-1]]
    turns = [text for turn in given.turns for text in turn]
    if turns in (sent, own_fences):
        return judge.examples
    return tuple(_example(merged, user, reply) for user, reply in given.turns)


def _example(prompt: JudgePrompt, user: str, reply: str) -> Example:
    pattern, at, seen = "", 0, set()
    for found in PLACEHOLDER.finditer(prompt.template):
        name = found.group(1)
        group = f"(?P={name})" if name in seen else rf"(?P<{name}>[\s\S]*?)"
        fence = r"(?:-[0-9a-f]{8})?"
        pattern += re.escape(prompt.template[at : found.start()]) + rf"<{name}{fence}>\n{group}\n</{name}{fence}>"
        seen.add(name)
        at = found.end()
    clause = "\n\n" + prompt.reply.strip() if prompt.reply.strip() else ""
    match = re.fullmatch(pattern + re.escape(prompt.template[at:] + clause), user)
    if match is None:
        raise InputError("a demonstration does not have the form of the judge's user message")
    return Example(inputs=match.groupdict(), reply=reply)


def _kept(judge: JudgePrompt, examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """The judge's own demonstration wherever one says the same; its inputs may hold fields that are never sent."""

    def sent(example: Example) -> tuple[object, str]:
        return {name: example.inputs.get(name) for name in judge.inputs}, example.reply

    own = list(judge.examples)
    return tuple(next((mine for mine in own if sent(mine) == sent(one)), one) for one in examples)
