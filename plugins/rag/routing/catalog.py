"""A catalogue of sources that can answer questions, as YAML, and the judge that chooses among
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ....judges.errors import DataError, InputError, PromptError, explain_yaml_error
from ....judges.files.small_file import read_small_text
from ....judges.prompt import JudgePrompt, TextLoader
from ....judges.scale import OutputScale

SHOWN_QUESTIONS = 2
"""Questions of a source that the judge is shown; retrieval reads all."""


def _listed(value: object) -> object:
    """Take one text for a list of one."""
    return [value] if isinstance(value, str) else value


def _described(value: object) -> object:
    """Take a list of column names for columns without a description."""
    if not isinstance(value, list):
        return value
    named: dict[object, str] = dict.fromkeys(value, "")  # pyright: ignore[reportUnknownArgumentType]  # read from YAML
    return named


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Columns = Annotated[dict[str, str | None], BeforeValidator(_described)]


class Source(BaseModel):
    """One source as the catalogue describes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1)]
    description: Annotated[str, Field(min_length=1)]
    synonyms: Texts = ()
    tables: dict[str, Columns] = {}
    """Its tables, each with its columns and what these hold."""
    questions: Texts = ()
    """Questions that it is known to answer."""
    only: dict[str, Texts] = {}
    """Who may ask it: the values that a column of the question's row must have."""

    @property
    def anchor(self) -> str:
        """What the judge is told of it, on one line."""
        parts = [_one_line(self.description).rstrip(".") + "."]
        if self.synonyms:
            parts.append(f"Also called {', '.join(self.synonyms)}.")
        for table, columns in self.tables.items():
            parts.append(f"Table {table}: {', '.join(columns)}.")
        if self.questions:
            examples = " ".join(
                _one_line(question) for question in self.questions[:SHOWN_QUESTIONS]
            )
            parts.append(f"Answers for example: {examples}")
        return _one_line(" ".join(parts))

    @property
    def text(self) -> str:
        """All that is said of it, for retrieval."""
        parts = [self.name.replace("_", " "), self.description, *self.synonyms]
        for table, columns in self.tables.items():
            parts.append(table.replace("_", " "))
            parts += [
                f"{column.replace('_', ' ')} {meaning or ''}" for column, meaning in columns.items()
            ]
        return "\n".join((*parts, *self.questions))


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    sources: list[Source]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Sources in the order of their file."""

    sources: tuple[Source, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(source.name for source in self.sources)

    @property
    def conditions(self) -> Mapping[str, str]:
        """Each column that prunes, with a source that needs it."""
        return {column: source.name for source in self.sources for column in source.only}


def read_catalog(path: Path) -> Catalog:
    """Read a catalogue.

    Raises:
        DataError: The file is none; the message names the source and the field.
    """
    try:
        text = read_small_text(path)
        body = yaml.load(text, Loader=TextLoader)  # noqa: S506  # a SafeLoader that reads text only
        sources = _File.model_validate(body).sources
    except PromptError as error:
        raise DataError(f"{path}: {error}".replace("in a prompt file", "in a catalogue")) from None
    except OSError as error:
        raise DataError(
            f"cannot read the catalogue {str(path)!r}: {error.strerror or error}"
        ) from None
    except (ValidationError, yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise DataError(
            f"{path} is no catalogue: {explain_yaml_error(error)}",
            hint="it begins with `sources:`, a list of name and description each",
        ) from None
    names = [source.name.casefold() for source in sources]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            f"{path}: the source {twice!r} stands twice", hint="capitals do not tell sources apart"
        )
    if len(sources) < 2:
        raise DataError(f"{path}: it has {len(sources)} sources, and a choice needs two")
    return Catalog(tuple(sources))


def router_of(catalog: Catalog, base: JudgePrompt, *, name: str = "router") -> JudgePrompt:
    """Return the judge that chooses among all sources: a routing judge with the catalogue for its
    scale.

    Args:
        catalog: The sources.
        base: A judge that chooses, such as the shipped `routing`.
        name: What the new one is called.

    Raises:
        InputError: The base does not choose.
    """
    if base.scale.kind != "choice":
        raise InputError(
            f"{base.name} does not choose among classes",
            hint="take `routing`, or a judge made of it",
        )
    anchors = {source.name: source.anchor for source in catalog.sources}
    scale = OutputScale(
        kind="choice", labels=catalog.names, anchors=anchors, threshold=base.scale.threshold
    )
    note = f"Chooses among the {len(anchors)} sources of a catalogue."
    return replace(base, name=name, scale=scale, cases=None, parent=None, note=note)


def in_order_of(prompt: JudgePrompt, catalog: Catalog) -> Catalog:
    """Return the catalogue in the order of a judge's scale.

    Raises:
        InputError: The judge does not choose, or among others than the catalogue's sources.
    """
    if prompt.scale.kind != "choice":
        raise InputError(
            f"{prompt.name} does not choose among classes", hint="`route judge` makes one that does"
        )
    strange = sorted(set(prompt.scale.labels) ^ set(catalog.names))
    if strange:
        raise InputError(
            f"{prompt.name} and the catalogue differ in the sources {', '.join(strange)}",
            hint="`route judge CATALOG` makes the judge that goes with it",
        )
    by_name = {source.name: source for source in catalog.sources}
    return Catalog(tuple(by_name[name] for name in prompt.scale.labels))


def _one_line(text: str) -> str:
    return " ".join(text.split())
