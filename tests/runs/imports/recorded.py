"""Prompts as people write them, what a reader answered of them, and what they mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from judgewright.judges import (
    Completion,
    JudgePrompt,
    JudgeSettings,
    OutputScale,
    Verdict,
    read_reply,
)
from judgewright.judges.models import Client
from judgewright.runs.imports import (
    AddOptions,
    ForeignJudge,
    ModelReading,
    Understood,
    ask_for_reading,
    read_own_prompts,
    understand,
)

from .scripted import Scripted

FOLDER = Path(__file__).parent / "own_prompts"
READINGS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    (FOLDER / "readings.yaml").read_text(encoding="utf-8")
)
LISTS = ("places", "labels", "reply_fields")
TEXTS = (
    *("prompt", "unordered", "scale", "threshold", "answer", "verdict", "confidence"),
    *("first_words", "last_words", "open"),
)
NOTHING = {**{name: [] for name in LISTS}, **dict.fromkeys(TEXTS, "")}


def kept_cases() -> Iterator[tuple[str, Path | str, dict[str, Any]]]:
    """Yield the name of each kept prompt, its file or its text, and what it means."""
    for folder in ("own", "unseen", "fresh", "apart"):
        inside = FOLDER if folder == "own" else FOLDER / folder
        for case in yaml.safe_load((inside / "expected.yaml").read_text(encoding="utf-8")):
            yield f"{folder}/{case['file']}", inside / case["file"], case
    for path in sorted((FOLDER / "forms").glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            yield f"forms/{case['name']}", case["text"], case


def file_of(place: Path | str, case: dict[str, Any], folder: Path) -> Path:
    """The file of a kept prompt, written into a folder where it stands in a list."""
    if isinstance(place, Path):
        return place
    path = folder / (case["name"] + case.get("ext", ".txt"))
    path.write_text(place, encoding="utf-8")
    return path


def reading_of(
    judges: tuple[ForeignJudge, ...], **said: object
) -> tuple[ForeignJudge, ModelReading]:
    """What a model that answers this reads in a file's prompts."""
    with Client(Scripted(json.dumps(NOTHING | said))) as client:
        judge, reading = ask_for_reading(judges, client, JudgeSettings())
    assert isinstance(reading, ModelReading), reading
    return judge, reading


def understood(
    path: Path, said: dict[str, Any], options: AddOptions | None = None
) -> tuple[Understood, ModelReading]:
    """What is known of a file's prompt with this reading."""
    judge, reading = reading_of(read_own_prompts(path), **said)
    return understand(judge, options or AddOptions(), reading), reading


def score(prompt: JudgePrompt, reply: str) -> float | None:
    """The grade of a reply."""
    answer = read_reply(prompt, Completion(text=reply))
    return answer.score if isinstance(answer, Verdict) else None


def in_short(scale: OutputScale) -> str:
    """Write a scale as the tables in `forms` do."""
    if scale.low_is_good:
        return "low prob"
    if scale.kind in ("probability", "choice"):
        kind = "prob" if scale.kind == "probability" else "choice"
        return " ".join((kind, ",".join(scale.labels))).strip()
    if len(scale.labels) > 20:
        return f"{scale.labels[0]}..{scale.labels[-1]}"
    numbers = "bit" if scale.kind == "binary" else f"{scale.low}..{scale.high}"
    return "<".join(scale.labels) or numbers
