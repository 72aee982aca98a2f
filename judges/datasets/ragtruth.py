"""RAGTruth (Niu et al., 2024): responses with hallucinated spans, turned into labels of responses
or sentences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files.problems import Problems, shorten
from ..rows import Scalar
from .release import read_objects
from .source import Flat, ReadOptions, Source

_RESPONSE = ("id", "source_id", "model", "response", "labels")
_SOURCE = ("source_id", "task_type", "source_info")


@dataclass(frozen=True, slots=True)
class _Span:
    """A hallucinated piece of a response, without the white space at its ends."""

    start: int
    end: int
    text: str
    kind: str
    implicit_true: bool
    due_to_null: bool


def read_ragtruth(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each response, or for each of its sentences.

    A response is unsupported (0) when a span is labelled in it, a sentence when a span overlaps it.
    A span that is true but not in the source counts as unsupported too, because a groundedness
    judge looks at nothing but the source; `implicit_true_only` tells such rows apart. All responses
    to one source are a group. response.jsonl and source_info.jsonl are in one folder.

    Raises:
        DataError: A file is missing or not of this release, or a span lies outside its response.
    """
    responses, sources = _files(path)
    materials = _read_materials(sources)
    problems = Problems(responses)
    flawed = 0
    for at, body in read_objects(responses, problems):
        if not _has(body, _RESPONSE, at, problems):
            continue
        material = materials.get(str(body["source_id"]))
        if material is None:
            problems.add(at, f"field 'source_id': {body['source_id']!r} is not in {sources.name}")
            continue
        spans = _spans(body, at, problems)
        flawed += body.get("quality") not in (None, "good")
        if options.level == "sentence":
            yield from _sentence_rows(body, material, spans)
        else:
            yield _row(
                body,
                material,
                body["response"],
                spans,
                id=f"ragtruth-{body['id']}",
                granularity="response",
            )
    problems.check()
    if flawed:
        notes.append(
            "responses with a quality issue (truncated, refused), kept and named in `quality`:"
            f" {flawed:,}"
        )


def _files(path: Path) -> tuple[Path, Path]:
    folders = [path, path / "dataset"] if path.is_dir() else [path.parent]
    for folder in folders:
        responses = folder / "response.jsonl" if path.is_dir() else path
        sources = folder / "source_info.jsonl"
        if responses.is_file() and sources.is_file():
            return responses, sources
    raise DataError(
        f"{path}: there are no response.jsonl and source_info.jsonl",
        hint="name the folder that holds both",
    )


def _read_materials(path: Path) -> dict[str, Flat]:
    problems = Problems(path)
    materials: dict[str, Flat] = {}
    for at, body in read_objects(path, problems):
        if not _has(body, _SOURCE, at, problems):
            continue
        content = body["source_info"]
        query = None
        if isinstance(content, dict) and "passages" in content:
            query, content = content.get("question"), content["passages"]
        # A record of fields is shown to a judge as JSON; the paper's own baseline shows it as
        # Python prints it.
        text = (
            content
            if isinstance(content, str)
            else json.dumps(content, ensure_ascii=False, indent=1)
        )
        task, domain = str(body["task_type"]), str(body.get("source") or "")
        material: Flat = {"task_type": task, "query": query, "source": text, "domain": domain}
        materials[str(body["source_id"])] = material
    problems.check()
    return materials


def _has(
    body: Mapping[str, Any], needed: Sequence[str], at: int, problems: Problems
) -> bool:  # Any: JSON
    for name in needed:
        if body.get(name) is None:
            state = "null" if name in body else "missing"
            problems.add(at, f"field {name!r} is {state}")
            return False
    if "response" in needed and not isinstance(body["response"], str):
        problems.add(at, "field 'response' is no text")
        return False
    return True


def _spans(body: Mapping[str, Any], at: int, problems: Problems) -> list[_Span]:  # Any: JSON
    response, labels = body["response"], body["labels"]
    if not isinstance(labels, list):
        labels = [labels]
    spans: list[_Span] = []
    for label in labels:
        start = end = None
        if isinstance(label, dict):
            start, end = label.get("start"), label.get("end")
        if not (
            isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(response)
        ):
            length = f"{len(response)} characters"
            problems.add(
                at, f"field 'labels': {shorten(label)} is no span of the response ({length})"
            )
            continue
        # Spans often begin or end with white space, which must not reach into the next sentence.
        text = response[start:end]
        start += len(text) - len(text.lstrip())
        span = _Span(
            start=start,
            end=start + len(text.strip()),
            text=text.strip(),
            kind=str(label.get("label_type") or "unnamed"),
            implicit_true=label.get("implicit_true") is True,
            due_to_null=label.get("due_to_null") is True,
        )
        spans.append(span)
    return spans


def _sentence_rows(
    body: Mapping[str, Any],  # Any: JSON
    material: Flat,
    spans: Sequence[_Span],
) -> Iterator[Flat]:
    for index, (start, end) in enumerate(sentence_bounds(body["response"])):
        inside = [span for span in spans if max(span.start, start) < min(span.end, end)]
        row = _row(
            body,
            material,
            body["response"][start:end],
            inside,
            id=f"ragtruth-{body['id']}-{index}",
            granularity="sentence",
        )
        yield row | {"response_id": str(body["id"]), "sentence_index": index}


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Return where each sentence starts and ends, white space left out; pieces without a letter or
    digit are none.
    """
    import sentencex

    bounds, cursor = [], 0
    for piece in sentencex.segment("en", text):  # pyright: ignore[reportAttributeAccessIssue]  # compiled
        # Looked for and not added up: what the splitter drops or repairs must not shift the rest.
        core = piece.strip()
        start = text.find(core, cursor) if core else -1
        if start >= 0:
            cursor = start + len(core)
            if any(c.isalnum() for c in core):
                bounds.append((start, cursor))
    return bounds


def _row(
    body: Mapping[str, Any],  # Any: JSON
    material: Flat,
    statement: str,
    spans: Sequence[_Span],
    *,
    id: str,
    granularity: str,
) -> Flat:
    return {
        "id": id,
        "dataset": "ragtruth",
        "group_id": f"ragtruth_{body['source_id']}",
        "task_type": material["task_type"],
        "granularity": granularity,
        "query": material["query"],
        "source": material["source"],
        "statement": statement,
        "label": int(not spans),
        "model": str(body["model"]),
        "temperature": _scalar(body.get("temperature")),
        "quality": _scalar(body.get("quality")),
        "domain": material["domain"],
        "orig_split": _scalar(body.get("split")),
        "n_spans": len(spans),
        "error_type": "|".join(sorted({span.kind for span in spans})) or None,
        "hallucinated_text": " | ".join(span.text for span in spans) or None,
        "implicit_true_only": bool(spans) and all(span.implicit_true for span in spans),
        "hallucinated_due_to_null": any(span.due_to_null for span in spans),
    }


def _scalar(value: object) -> Scalar:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


RAGTRUTH = Source(
    name="ragtruth",
    about="responses (or their sentences) against sources, 0/1 from hallucinated spans",
    inputs=("source", "statement"),
    judge="groundedness",
    licence=(
        "MIT; the sources are MS MARCO (research only), CNN/DM and Yelp texts with terms of"
        " their own"
    ),
    read=read_ragtruth,
    levels=("response", "sentence"),
)
