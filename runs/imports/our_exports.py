"""Read an export of ours back: the judge's words from the tool's files, the rest from the
manifest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...judges import (
    CRITERIA_PLACE,
    DecisionRule,
    Example,
    InputError,
    JudgePrompt,
    OutputScale,
    Row,
)
from ...judges.prompt import DATA_NOTICE
from ..exports.manifest import MANIFEST_NAME, read_export
from ..exports.template_parts import (
    Field,
    TemplatePart,
    fill,
    split_placeholders,
    template_messages,
)
from .template_syntaxes import our_template
from .tool_formats import TOOL_FORMATS, FileContents, JudgeFile

_CRITERIA_HEADING = "\n\nCriteria:\n"
_SCALE_HEADING = "\n\nScale:\n"
PARTS = ("words", "demonstrations", "scale", "reply fields", "threshold")
"""What a judge is made of, as far as an import says where it was read."""


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
    """The rule that was exported; it may be another than the prompt's own."""

    @property
    def edited(self) -> bool:
        """Whether the words are other ones than those that were exported."""
        return self.prompt.version != self.exported

    @property
    def notes(self) -> list[str]:
        """Where each part was read, and what is not as it was exported, in whole sentences."""
        parts_by_file: dict[str, list[str]] = {}
        for part, file in self.sources.items():
            parts_by_file.setdefault(file, []).append(part)
        notes = [f"From {file}: {', '.join(parts)}." for file, parts in parts_by_file.items()]
        if self.rule != self.prompt.rule:
            notes.append(
                f"Its decision rule {self.rule.version} is not the prompt's own and stands in the"
                " manifest."
            )
        if self.edited:
            notes.append(f"Its words were edited since {self.exported} was exported.")
        return notes


def read_back(path: Path) -> ReadBack:
    """Read an export of ours: a folder with manifest.json, or a file with one beside it.

    What a tool's file says counts before the manifest, so that words edited where the judge was
    used come back. A part that says what the manifest's judge would send is that judge's, with the
    white space that no tool sends.

    Raises:
        InputError: It is no export; a file cannot be read, or two of them were edited and disagree.
    """
    export = read_export(path)
    judge, target = export.judge, export.body["target"]
    prompts: dict[str, JudgePrompt] = {}
    sources: dict[str, dict[str, str]] = {MANIFEST_NAME: dict.fromkeys(PARTS, MANIFEST_NAME)}
    for judge_file in TOOL_FORMATS.get(target, ()):
        for name in export.body["files"]:
            if name.endswith(judge_file.ending):
                contents = _read(export.folder / name, judge_file)
                prompts[name] = _merge(judge, contents)
                sources[name] = {
                    part: name if part in _parts_in(contents) else MANIFEST_NAME for part in PARTS
                }
    # Two files that were edited alike are one edit.
    edited = {
        prompt.version: name for name, prompt in prompts.items() if prompt.version != judge.version
    }
    if len(edited) > 1:
        names = " and ".join(edited.values())
        raise InputError(
            f"{names} were both edited, and are different judges now", hint="undo one of them"
        )
    name = next(iter([*edited.values(), *prompts]), MANIFEST_NAME)
    return ReadBack(
        prompt=prompts.get(name, judge),
        exported=judge.version,
        target=target,
        sources=sources[name],
        rule=DecisionRule.from_json(export.body["rule"]),
    )


def _read(path: Path, judge_file: JudgeFile) -> FileContents:
    try:
        return judge_file.read(path.read_text(encoding="utf-8"))
    except InputError as error:
        reason = str(error)
    except (OSError, KeyError, IndexError, TypeError, ValueError, SyntaxError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise InputError(f"{path.name} cannot be read back: {reason}")


def _parts_in(contents: FileContents) -> list[str]:
    if contents.prompt is not None:
        return list(PARTS)
    parts = ["words"]
    if contents.turns is not None or contents.examples is not None:
        parts.append("demonstrations")
    if contents.scale:
        parts += ["scale", "threshold"]
    return parts


def _merge(judge: JudgePrompt, contents: FileContents) -> JudgePrompt:
    """Return the manifest's judge with what the file says in its place."""
    if contents.prompt is not None:
        return contents.prompt
    system, criteria, scale = _system_parts(judge, contents)
    template, reply = _user_parts(judge, contents)
    reply = _as_written(judge.reply, reply)
    merged = replace(
        judge, system=system, criteria=criteria, scale=scale, template=template, reply=reply
    )
    examples = contents.examples
    if examples is None:
        examples = _examples(judge, merged, contents)
    merged = replace(merged, examples=_own_examples(judge, examples))
    if merged.version == judge.version:
        return judge
    return replace(merged, parent=judge.version, note="")


def _as_written(own: str, sent: str) -> str:
    """Return the judge's own text where the tool's is the same but for the white space that is
    never sent.
    """
    return own if sent == own.strip() else sent


def _system_parts(judge: JudgePrompt, contents: FileContents) -> tuple[str, str, OutputScale]:
    scale = contents.scale or judge.scale
    text = contents.system
    if text is None or text == judge.system_text():
        return judge.system, judge.criteria, scale
    body = text.removesuffix("\n\n" + DATA_NOTICE)
    if body == text:
        raise InputError(
            "the notice that closes the system message was edited; it is the same in every judge"
        )
    if judge.scale.anchors:
        body, heading, anchors = body.rpartition(_SCALE_HEADING)
        if not heading:
            raise InputError("the system message has no scale any more")
        scale = replace(scale, anchors=judge.scale.with_anchors(anchors).anchors)
    if CRITERIA_PLACE in judge.system:
        before, _, after = judge.system.strip().partition(CRITERIA_PLACE)
        if not body.startswith(before) or not body.endswith(after):
            raise InputError(
                "the system message was edited outside its criteria; they can no longer be told"
                " apart"
            )
        return (
            judge.system,
            _as_written(judge.criteria, body[len(before) : len(body) - len(after)]),
            scale,
        )
    # The judge's own system text may hold the heading too: what comes before the criteria has as
    # many of them.
    pieces = body.split(_CRITERIA_HEADING)
    count = judge.system.strip().count(_CRITERIA_HEADING) + 1
    if len(pieces) <= count:
        raise InputError("the system message has no criteria any more")
    system, criteria = (
        _CRITERIA_HEADING.join(pieces[:count]),
        _CRITERIA_HEADING.join(pieces[count:]),
    )
    return _as_written(judge.system, system), _as_written(judge.criteria, criteria), scale


def _user_parts(judge: JudgePrompt, contents: FileContents) -> tuple[str, str]:
    """Return template and reply clause.

    Where they are one text, one of the two must be as it was to tell them apart.
    """
    if contents.template_and_reply is not None:
        return contents.template_and_reply
    if contents.user is None:
        return judge.template, judge.reply
    parts = _without_fences(contents.user)
    clause = judge.reply.strip()
    if not clause:
        return our_template(parts), ""
    *before, last = parts
    tail = last if isinstance(last, str) else ""
    if not tail:
        before = parts
    *_, own_tail = map(str, split_placeholders(judge.template))
    if tail.startswith(own_tail + "\n\n"):
        return our_template((*before, own_tail)), tail[len(own_tail) + 2 :]
    if tail.endswith("\n\n" + clause):
        return our_template((*before, tail.removesuffix("\n\n" + clause))), clause
    raise InputError(
        "template and reply clause were both edited where they meet; they can no longer be told"
        " apart"
    )


def _without_fences(parts: tuple[TemplatePart, ...]) -> list[TemplatePart]:
    bare = list(parts)
    for i, part in enumerate(parts):
        if not isinstance(part, Field):
            continue
        before = bare[i - 1] if i else ""
        after = bare[i + 1] if i + 1 < len(bare) else ""
        opening, closing = f"<{part.name}>\n", f"\n</{part.name}>"
        if not isinstance(before, str) or not isinstance(after, str):
            raise InputError(f"the field {part.name!r} stands in no fence any more")
        if not before.endswith(opening) or not after.startswith(closing):
            raise InputError(f"the field {part.name!r} stands in no fence any more")
        bare[i - 1], bare[i + 1] = before.removesuffix(opening), after.removeprefix(closing)
    return bare


def _examples(
    judge: JudgePrompt, merged: JudgePrompt, contents: FileContents
) -> tuple[Example, ...]:
    """Return the judge's demonstrations where they are as it would send them, else those read off
    their text.
    """
    if contents.turns is None:
        return judge.examples
    sent = [message["content"] for message in fill(template_messages(judge)[1:-1], {})]
    empty_row = Row(id="", inputs=dict.fromkeys(judge.inputs, ""))
    own_fences = [str(message.content) for message in judge.messages(empty_row)[1:-1]]
    texts = [text for turn in contents.turns for text in turn]
    if texts in (sent, own_fences):
        return judge.examples
    return tuple(_example(merged, user, reply) for user, reply in contents.turns)


def _example(prompt: JudgePrompt, user: str, reply: str) -> Example:
    pattern = ""
    seen: set[str] = set()
    fence = r"(?:-[0-9a-f]{8})?"
    for part in split_placeholders(prompt.template):
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        name = part.name
        group = f"(?P={name})" if name in seen else rf"(?P<{name}>[\s\S]*?)"
        pattern += rf"<{name}{fence}>\n{group}\n</{name}{fence}>"
        seen.add(name)
    clause = prompt.reply.strip()
    if clause:
        pattern += re.escape(f"\n\n{clause}")
    match = re.fullmatch(pattern, user)
    if match is None:
        raise InputError("a demonstration does not have the form of the judge's user message")
    return Example(inputs=match.groupdict(), reply=reply)


def _own_examples(judge: JudgePrompt, examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return the judge's own demonstration wherever one says the same: its inputs may hold fields
    never sent.
    """

    def sent(example: Example) -> tuple[object, str]:
        return {name: example.inputs.get(name) for name in judge.inputs}, example.reply

    return tuple(
        next((own for own in judge.examples if sent(own) == sent(one)), one) for one in examples
    )
