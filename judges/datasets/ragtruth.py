"""RAGTruth (Niu et al., 2024): responses with hallucinated spans, turned into labels of responses
or sentences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, ValidationInfo, field_validator

from ..errors import DataError
from ..files.problems import Problems, shorten
from ..files.records import read_objects
from ..rows import Scalar
from .source import Flat, ReadOptions, Source


class _Span(BaseModel):
    """A hallucinated piece of a response."""

    start: int
    end: int
    label_type: str = "unnamed"
    implicit_true: bool | None = False
    due_to_null: bool | None = False


class _Response(BaseModel):
    """A line of response.jsonl."""

    id: str | int
    source_id: str | int
    model: str
    response: str
    labels: list[_Span]
    temperature: Scalar = None
    quality: Scalar = None
    split: Scalar = None

    @field_validator("labels")
    @classmethod
    def _inside(cls, spans: list[_Span], info: ValidationInfo) -> list[_Span]:
        """Refuse a span outside the response; leave out the white space at its ends."""
        response = str(info.data.get("response", ""))
        for span in spans:
            if not 0 <= span.start < span.end <= len(response):
                where = f"{span.start}..{span.end}"
                raise ValueError(f"{where} is no span of the response ({len(response)} characters)")
            # White space at the ends must not reach into the next sentence.
            text = response[span.start : span.end]
            span.start += len(text) - len(text.lstrip())
            span.end = span.start + len(text.strip())
        return spans


class _Material(BaseModel):
    """A line of source_info.jsonl."""

    source_id: str | int
    task_type: str
    source_info: Any
    source: str = ""

    def row(self) -> Flat:
        """Return its columns of a row."""
        content, query = self.source_info, None
        if isinstance(content, dict) and "passages" in content:
            query, content = content.get("question"), content["passages"]
        # A record of fields is shown to a judge as JSON; the paper's own baseline shows it as
        # Python prints it.
        if not isinstance(content, str):
            content = json.dumps(content, ensure_ascii=False, indent=1)
        task = {"task_type": self.task_type, "query": query}
        return {**task, "source": content, "domain": self.source}


_Line = TypeVar("_Line", bound=BaseModel)


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
    materials = {str(one.source_id): one.row() for _, one in _read(sources, _Material)}
    problems = Problems(responses)
    flawed = 0
    for at, body in _read(responses, _Response, problems):
        material = materials.get(str(body.source_id))
        if material is None:
            problems.add(at, f"field 'source_id': {body.source_id!r} is not in {sources.name}")
            continue
        flawed += body.quality not in (None, "good")
        if options.level == "sentence":
            for index, (start, end) in enumerate(sentence_bounds(body.response)):
                row = _row(body, material, start, end, name=f"{body.id}-{index}")
                more = {"response_id": str(body.id), "sentence_index": index}
                yield row | {"granularity": "sentence", **more}
        else:
            row = _row(body, material, 0, len(body.response), name=str(body.id))
            yield row | {"granularity": "response"}
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


def _read(
    path: Path, shape: type[_Line], problems: Problems | None = None
) -> Iterator[tuple[int, _Line]]:
    """Yield the lines of a file; one of another shape is a problem."""
    mine = problems or Problems(path)
    for at, body in read_objects(path, mine):
        try:
            yield at, shape.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            reason = f"{first['msg'].removeprefix('Value error, ')}: {shorten(first['input'])}"
            mine.add(at, f"field {str(first['loc'][0])!r}: {reason}")
    if problems is None:
        mine.check()


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


def _row(body: _Response, material: Mapping[str, Scalar], start: int, end: int, name: str) -> Flat:
    spans: Sequence[_Span] = [
        span for span in body.labels if max(span.start, start) < min(span.end, end)
    ]
    texts = [body.response[span.start : span.end] for span in spans]
    return {
        "id": f"ragtruth-{name}",
        "dataset": "ragtruth",
        "group_id": f"ragtruth_{body.source_id}",
        **material,
        "statement": body.response[start:end],
        "label": int(not spans),
        "model": body.model,
        "temperature": body.temperature,
        "quality": body.quality,
        "orig_split": body.split,
        "n_spans": len(spans),
        "error_type": "|".join(sorted({span.label_type for span in spans})) or None,
        "hallucinated_text": " | ".join(texts) or None,
        "implicit_true_only": bool(spans) and all(span.implicit_true for span in spans),
        "hallucinated_due_to_null": any(span.due_to_null for span in spans),
    }


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
    citation="Niu et al. (2024), RAGTruth",
    levels=("response", "sentence"),
)
