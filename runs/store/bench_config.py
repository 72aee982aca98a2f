"""What a benchmark depends on, as it is stored with its run: enough to read its rows and verdicts
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...judges import (
    Dataset,
    DecisionRule,
    InputError,
    JudgePrompt,
    JudgeSettings,
    load_prompt,
)
from ...judges.asked_question import AskedQuestion
from ...judges.files import RowSource, load_as_said
from ..config.command_options import BenchOptions, ModelOptions, RowOptions

if TYPE_CHECKING:
    from ...judges.claims import ClaimSettings
    from ...judges.models.question import DecisionApi


@dataclass(frozen=True, kw_only=True)
class BenchSource:
    """The file that a benchmark's rows come from, and how it was read."""

    data: str = ""
    """The file, of which a run keeps the whole path; empty for rows from Python's memory."""
    reading: Mapping[str, Any] = field(default_factory=dict[str, Any])  # Any: JSON
    """Arguments of `load_dataset`; `label_scale` as text."""
    slice: str = ""
    """The predicate whose rows were measured; empty for all rows."""
    left_out: str = ""
    """Which of these rows were sealed and not read, as bits in hexadecimal; empty for none."""
    shared_inputs: Sequence[tuple[str, str]] = ()
    """Inputs in a state that several judges shared, each with the column that was named for it;
    empty where the state was the judge's own.
    """


@dataclass(frozen=True, kw_only=True)
class BenchConfig(BenchSource):
    """The configuration of a run of `bench`; runs of version 0.2 have only the first three fields
    that are named here.
    """

    judge: str = ""
    version: str = ""
    model: str = ""
    prompt: str = ""
    """The judge's YAML."""
    rule: Mapping[str, Any] | None = None  # Any: JSON
    """The decision rule kept for the judge; None where its own threshold decided."""
    data_hash: str = ""
    confidence: Literal["ask", "tok"] = "ask"
    max_tokens: int | None = None
    claims: Mapping[str, str] | None = None
    """Splitter and trivial, where responses were judged claim by claim."""
    hidden_cases: tuple[str, ...] = ()
    """See `RunConfig.hidden_cases`."""
    repeat: int = 1
    by: str | None = None

    @classmethod
    def of(
        cls,
        prompt: JudgePrompt,
        dataset: Dataset,
        options: BenchOptions,
        models: ModelOptions,
        *,
        rule: DecisionRule | None,
        source: BenchSource | None,
    ) -> BenchConfig:
        """Describe a benchmark that is about to begin."""
        source = source or BenchSource()
        if source.data:
            source = replace(source, data=str(Path(source.data).resolve()))
        return cls(
            **vars(source),
            judge=prompt.name,
            version=prompt.version,
            model=models.model,
            prompt=prompt.to_yaml(),
            rule=None if rule is None else rule.to_json(),
            data_hash=dataset.content_hash,
            confidence=options.confidence,
            max_tokens=models.max_tokens,
            claims=options.claims and asdict(options.claims),
            hidden_cases=prompt.hidden_cases,
            repeat=options.repeat,
            by=options.by,
        )

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> BenchConfig:  # Any: JSON
        """Read what `to_json` wrote, or the configuration of an earlier version's benchmark."""
        names = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in body.items() if name in names})

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the configuration as JSON; it holds no key."""
        return asdict(self)

    def prompt_measured(self, banks: Path) -> JudgePrompt:
        """Return the judge's prompt.

        Args:
            banks: See `banks_of`.

        Raises:
            InputError: An earlier version measured it.
        """
        if not self.prompt:
            raise InputError(
                "an earlier version of Judgewright measured this, and kept no rows to look at",
                hint="bench the judge again: what was asked is cached and costs nothing",
            )
        prompt = load_prompt(self.prompt, origin="the benchmark's prompt", folder=banks)
        return prompt.hiding(self.hidden_cases)

    @property
    def decision_rule(self) -> DecisionRule | None:
        """The kept rule; None where the prompt's own threshold decided."""
        return None if self.rule is None else DecisionRule.from_json(self.rule)

    @property
    def claim_settings(self) -> ClaimSettings | None:
        """How responses were split into claims; None where each was judged whole.

        Raises:
            InputError: Their verdicts were joined by a mean, as versions before 0.4 could.
        """
        from ...judges.claims import ClaimSettings

        if self.claims is None:
            return None
        names: dict[str, Any] = dict(self.claims)  # Any: its own names
        if names.pop("aggregate", "min") != "min":
            raise InputError(
                "the verdicts on claims were joined by a mean, which is no longer done",
                hint="bench again: what was asked is recorded",
            )
        return ClaimSettings(**names)

    def judge_settings(self) -> JudgeSettings:
        """Return how rows were asked about."""
        return JudgeSettings(max_tokens=self.max_tokens, confidence=self.confidence)

    def question(self, prompt: JudgePrompt, api: DecisionApi | None) -> AskedQuestion | None:
        """Return the question about the state that judges shared; None where none did."""
        if api is None or not self.shared_inputs:
            return None
        columns = dict(self.shared_inputs)
        named = {name: column for name, column in columns.items() if column}
        reading = {**self.reading, "columns": named}
        inputs = inputs_of_rows(prompt, Path(self.data), reading, tuple(columns))
        return AskedQuestion(prompt=prompt, api=api, shared=inputs)

    def dataset(self, prompt: JudgePrompt) -> Dataset:
        """Read the rows again with the inputs of the prompt that was measured.

        Raises:
            InputError: They came from memory, or have changed since.
            DataError: The file cannot be read.
        """
        if not self.data:
            raise InputError(
                "these rows came from Python's memory",
                hint="bench the rows of a file to look at them here",
            )
        rows = load_as_said(Path(self.data), self.reading, inputs=prompt.inputs, scale=prompt.scale)
        if self.slice:
            from ...slices import parse_predicate, rows_in_slice

            rows = rows_in_slice(rows, parse_predicate(self.slice))
        if self.left_out:
            sealed = np.unpackbits(
                np.frombuffer(bytes.fromhex(self.left_out), np.uint8), count=len(rows)
            )
            rows = replace(
                rows, rows=tuple(row for row, out in zip(rows.rows, sealed, strict=True) if not out)
            )
        if rows.content_hash != self.data_hash:
            raise InputError(
                f"{Path(self.data).name} has changed since it was measured",
                hint="put the rows back, or bench again: what is the same is cached",
            )
        return rows


def inputs_of_rows(
    prompt: JudgePrompt,
    data: RowSource,
    reading: Mapping[str, Any],  # Any: JSON
    names: Sequence[str],
) -> dict[str, Mapping[str, str]]:
    """Return these inputs of each row of a file, by its id; see `read_rows`."""
    rows = load_as_said(data, reading, inputs=names, scale=prompt.scale, require_labels=False).rows
    return {row.id: row.inputs for row in rows}


def read_rows(
    prompt: JudgePrompt,
    data: RowSource,
    options: RowOptions,
    *,
    drawn: bool = False,
    audited: str | None = None,
    require_labels: bool = True,
) -> Dataset:
    """Read the rows that a judge is to be asked about.

    Args:
        drawn: Whether rows are kept that were drawn with a probability below 1, for training.
        audited: A file with marks, whose labels count instead.
        require_labels: Whether a file without a single label is an error.

    Raises:
        InputError: The file cannot be read, or lacks a column.
    """
    return load_as_said(
        data,
        RowOptions.as_arguments(options),
        inputs=prompt.inputs,
        scale=prompt.scale,
        require_labels=require_labels,
        drawn=drawn,
        audited=audited,
    )
