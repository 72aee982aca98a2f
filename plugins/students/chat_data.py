"""A teacher's verdicts as chats, for any fine-tuner: what the judge is asked, and the reply the
student should give.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...judges.errors import InputError
from ...judges.judged_dataset import JudgedDataset
from ...judges.prompt import JudgePrompt
from ...judges.rows import Row
from ...judges.scale import BINARY
from ...judges.splits.parts import hash_of
from ...judges.verdict import Verdict

Chat = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatData:
    """Chats to train on and chats that are held out, by group."""

    prompt: JudgePrompt
    """What the student is asked: use it as the judge once the student is trained."""
    train: tuple[Chat, ...]
    held_out: tuple[Chat, ...]
    held_out_ids: tuple[str, ...]
    groups: tuple[int, int]
    """Of each part."""
    left_out: Mapping[str, int]
    """Rows without a chat, by the reason."""


def student_prompt(prompt: JudgePrompt, *, graded: bool, confidence: bool) -> JudgePrompt:
    """Return a prompt with the reply of a student, a score.

    Args:
        prompt: The judge's.
        graded: Whether the student gives grades on the judge's scale, and not decisions, 0 or 1.
        confidence: Whether it states a confidence.
    """
    scale = prompt.scale if graded else BINARY
    what = f"a whole number from {scale.low} to {scale.high}" if graded else "1 for yes, 0 for no"
    # Without the teacher's reason: students do better so (DIRAS).
    fields, asked = {"score": "score"}, f'"score": {what}'
    if confidence:
        fields["confidence"] = "confidence"
        asked += '; "confidence": how sure you are of this score, from 0 to 1'
    return replace(
        prompt,
        scale=scale,
        reply=f"Answer with a JSON object and nothing else: {asked}.",
        reply_schema=fields,
        reply_mark="",
        cases=prompt.cases if prompt.cases_by_row else None,
        parent=prompt.version,
        note="For a student: its reply is a score.",
    )


def chat_data(
    teacher: JudgedDataset,
    prompt: JudgePrompt,
    *,
    share: float = 0.2,
    seed: int = 0,
) -> ChatData:
    """Make chats of a teacher's verdicts; people's labels are in none of them.

    Where all scores are grades of the prompt's scale, the student learns grades, else decisions.

    Args:
        teacher: Rows with the prompt's inputs, and the teacher's verdicts.
        prompt: The judge whose task it is.
        share: Of the groups that are held out.
        seed: Of the choice of groups.

    Raises:
        InputError: The share is none, or no row can be trained on, or one part has none.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"the held-out share is between 0 and 1, not {share:g}")
    verdicts = [answer for answer in teacher.answers if isinstance(answer, Verdict)]
    graded = prompt.scale.kind == "graded" and all(
        answer.score in prompt.scale.levels for answer in verdicts
    )
    graded = graded and teacher.scale.kind == "graded"
    stated = bool(verdicts) and all(answer.confidence is not None for answer in verdicts)
    student = student_prompt(prompt, graded=graded, confidence=stated)
    left_out: dict[str, int] = {}
    rows: list[tuple[Row, Chat]] = []
    for row, answer in zip(teacher.dataset.rows, teacher.answers, strict=True):
        missing = next((name for name in prompt.inputs if name not in row.inputs), None)
        if not isinstance(answer, Verdict):
            reason = "the teacher has no verdict"
        elif missing is not None:
            reason = f"there is no text {missing!r}"
        else:
            rows.append((row, _chat(student, row, answer, graded=graded)))
            continue
        left_out[reason] = left_out.get(reason, 0) + 1
    if not rows:
        why = ", ".join(f"{reason} ({n:,} rows)" for reason, n in left_out.items())
        raise InputError(
            f"there is nothing to train on: {why}",
            hint="give the rows that were judged with --rows",
        )
    keys = sorted(
        {row.group_key for row, _ in rows}, key=lambda key: hash_of(seed, "held out", key)
    )
    held = set(keys[: max(1, round(share * len(keys)))])
    if len(held) == len(keys):
        raise InputError(
            "all rows are of one group, so that none can be held out", hint="name another --group"
        )
    return ChatData(
        prompt=student,
        train=tuple(chat for row, chat in rows if row.group_key not in held),
        held_out=tuple(chat for row, chat in rows if row.group_key in held),
        held_out_ids=tuple(row.id for row, _ in rows if row.group_key in held),
        groups=(len(keys) - len(held), len(held)),
        left_out=left_out,
    )


def _chat(prompt: JudgePrompt, row: Row, answer: Verdict, *, graded: bool) -> Chat:
    reply: dict[str, object] = {}
    for name, kind in prompt.reply_schema.items():
        if kind == "score":
            reply[name] = int(answer.score) if graded else int(answer.positive)
        else:
            reply[name] = answer.confidence
    messages = [
        {"role": message.role, "content": message.content} for message in prompt.messages(row)
    ]
    return {
        "messages": [
            *messages,
            {"role": "assistant", "content": json.dumps(reply, ensure_ascii=False)},
        ]
    }
