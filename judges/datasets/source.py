"""What an adapter is: a release as its makers publish it goes in, flat rows with a label come
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..files.verdict_scale import GradeMap
from ..rows import Scalar

Flat = dict[str, Scalar]
"""One row as it stands in our JSONL: `id`, `label`, the inputs, and columns to slice by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a person may choose; each adapter reads what it knows."""

    level: str = ""
    """What one row is, one of the source's `levels`; empty for the first of them."""
    seed: int = 0
    """Decides what is drawn at random, such as negatives."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of an annotation tool: our name to its column, or to a question; for `trec_dl` the files of
    `queries` and `passages`.
    """
    label_map: GradeMap = field(default_factory=dict)
    """Of an annotation tool: words of an answer, in lower case, and the grade each stands for."""


Read = Callable[[Path, ReadOptions, list[str]], Iterator[Flat]]
"""Yields rows of a path; what was assumed or left out is appended to the list while rows come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One published data set and how it is read."""

    name: str
    about: str
    """One line: the rows and their labels."""
    inputs: tuple[str, ...]
    """The columns a judge reads."""
    judge: str
    """A shipped judge with these inputs."""
    licence: str
    """What to heed before using the rows, as far as we know it; the release's own words decide."""
    read: Read
    citation: str = ""
    """Who made it."""
    levels: tuple[str, ...] = ()
    hub: str = ""
    """Its name on the Hugging Face hub, where the files there have the columns the adapter reads.
    """
