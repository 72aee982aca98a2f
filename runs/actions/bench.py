"""Benchmark a judge: judge rows whole or claim by claim, measure, and check how reliable the
figures are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from ...judges import (
    Benchmark,
    Client,
    ClientStats,
    DataError,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    Verdict,
    by_column,
    judge,
    measure,
    parse_label_scale,
    require_column,
)
from ...judges.asked_question import AskedQuestion
from ...judges.judge import require_answers
from ...judges.metrics.estimate import as_json
from ...judges.metrics.reliability_bins import bins_of_verdicts
from ...judges.models import CHANGES, Watch, ask_together
from ...judges.scale import label_scale_text
from ...judges.verdict import decided_probability
from ...optimize.holdout.row_fingerprints import KEY_COLUMN, row_keys
from ...optimize.run_event import JudgeMeasured, write_event
from ..config.command_options import BenchOptions, ModelOptions, TrustOptions
from ..config.environment import Environment
from ..store.banks import hidden_notes, hide_sealed, keep_banks
from ..store.bench_config import BenchConfig, BenchSource
from ..store.journal import RunJournal
from ..store.run_clients import start_run_client
from ..store.sealed_rows import (
    ReadRows,
    cost_of_measuring,
    enter_look,
    read_open,
    require_shown,
    seal_first,
    seal_of,
    version_of,
)
from ..store.workspace import Workspace
from .check_reliability import ReliabilityReport, check_reliability
from .first_figure import FirstFigure, summarize
from .first_question import first_question

if TYPE_CHECKING:
    from ...judges import OutputScale, Registry
    from ...judges.claims import ClaimedResponses
    from ...judges.files import RowSource
    from ...judges.function_judge import JudgeFunction
    from ...judges.metrics.macro_average import MacroMean
    from ...judges.reliability import AttackReport, OrderReport

KEPT_CHECKS = ("annotators", "detectable_change", "flip_rate", "order_sensitivity")
"""What is kept of the checks of reliability as it is; the others quote rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """A benchmark, its parts, the answers to what else was asked, and what it cost."""

    judged: JudgedDataset
    benchmark: Benchmark
    ceilings: ReliabilityReport
    shown: JudgedDataset
    """The rows that may be shown one by one: all but those sealed to a run."""
    sealed: int = 0
    """How many rows are sealed to a run."""
    summary: FirstFigure
    """What is said first of it."""
    by: Mapping[str, Benchmark] = field(default_factory=dict[str, Benchmark])
    macro: Mapping[str, MacroMean] = field(default_factory=dict[str, "MacroMean"])
    """Means over the values of the column asked for; empty without one, or for a choice."""
    claims: ClaimedResponses | None = None
    flips: AttackReport | None = None
    order: OrderReport | None = None
    stats: ClientStats = field(default_factory=ClientStats)
    notes: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """What is read, and what the figures cost a later gate: said before a model is asked."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the benchmark's JSON, whatever else was asked for, and the calls and their
        cost.
        """
        out = self.benchmark.to_json() | self.ceilings.to_json()
        out["summary"] = self.summary.to_json()
        if self.by:
            out["by"] = {value: part.to_json() for value, part in self.by.items()}
        out |= {name: mean.to_json() for name, mean in self.macro.items()}
        if self.claims is not None:
            out["claims"] = self.claims.to_json()
        if self.flips is not None:
            out["flip_rate"] = as_json(self.flips)
        if self.order is not None:
            out["order_sensitivity"] = as_json(self.order)
        return out | {
            "calls": self.stats.calls,
            "cost": self.stats.cost,
            "dropped": sorted(self.stats.dropped),
            "ignored": dict(self.stats.ignored),
            "notes": [*self.first, *self.stats.notes],
        }


def run_bench(
    workspace: Workspace,
    prompt: JudgePrompt,
    dataset: Dataset,
    options: BenchOptions,
    models: ModelOptions,
    environment: Environment,
    *,
    trust: TrustOptions | None = None,
    watch: Watch,
    show_all: bool = False,
    source: BenchSource | None = None,
    seal: bool = False,
    sealed: bool = False,
    say_first: Callable[[str], None] = lambda note: None,
    question: AskedQuestion | None = None,
) -> BenchResult:
    """Benchmark a judge in a workspace, where every reply is recorded and none is paid for twice.

    Its figures are entered in the ledger: on rows that are sealed, or will be, they are a look.
    They are kept with the run, in whose page they are read again.

    Args:
        options: How the rows are judged, and what else is measured.
        show_all: Whether single rows are shown even where they are sealed, which opens them.
        source: The file that the rows come from; None for rows from memory, which nobody can look
            at later.
        seal: Whether to set a holdout aside first, see `seal_first`.
        sealed: Whether to read rows that were so sealed too, which is a look.
        say_first: Told, before a model is asked, what is read and what the figures cost a later
            gate.
        question: How a decision model is asked; the judge's own question unless given.

    Raises:
        InputError: A column that was named is missing, the options contradict each other, no row
            may be written to a file, or the model is none that may be asked.
        WorldError: The endpoint answered nothing, or the disk or the person stopped it; asking
            again goes on.
    """
    if options.by_claim and options.repeat > 1:
        raise InputError("--repeat is for rows judged whole", hint="leave out --by-claim")
    if options.by is not None:
        require_column(dataset, options.by)
    keep_banks(workspace, prompt)
    if seal:
        seal_first(workspace, dataset)
    read = read_open(workspace, dataset, sealed=sealed or show_all)
    if options.out is not None and not show_all:
        hidden = seal_of(workspace, read.dataset, by="bench")
        instead = "without --out the figures alone are given"
        require_shown(hidden, name=dataset.name, instead=instead)
    first_said = read.notes or cost_of_measuring(
        workspace, dataset, f"{prompt.name}@{prompt.version}"
    )
    for note in first_said:
        say_first(note)
    dataset = read.dataset
    if source is not None and read.left_out.any():
        source = replace(source, left_out=np.packbits(read.left_out).tobytes().hex())
    settings = JudgeSettings(max_tokens=models.max_tokens, confidence=options.confidence)
    decides = environment.settings(models.model).api is not None
    kept_rule = workspace.registry.kept_rule(prompt, decides=decides)
    rule = kept_rule.rule if kept_rule else None
    prompt = hide_sealed(workspace, prompt)
    for note in first_question(workspace, prompt, models.model, environment, question):
        say_first(note)
    config = BenchConfig.of(prompt, dataset, options, models, rule=rule, source=source).to_json()
    with start_run_client(workspace, "bench", config, models, environment) as (run_id, client):
        rounds, claims = _judge_rows(
            prompt, dataset, client, options, settings, rule, watch, question
        )
        first = rounds[0]
        require_answers(first.answers)
        flips = order = None
        if options.planted == "order":
            from ...judges.reliability import order_sensitivity

            order = order_sensitivity(
                prompt,
                dataset,
                client,
                settings=settings,
                rule=rule,
                progress=partial(watch, "options reordered"),
            )
        elif options.planted is not None:
            from ...judges.reliability import attack_success_rate

            flips = attack_success_rate(
                prompt,
                dataset,
                client,
                settings=settings,
                rule=rule,
                sample=options.planted,
                progress=partial(watch, "planted instructions"),
            )
        stats = client.stats
        notes = [*hidden_notes(prompt)]
        if first.build not in (None, first.model):
            answered = f"{first.model} answered as {first.build}"
            notes.append(f"{answered}: the figures hold for that build")
        if kept_rule is not None:
            by = f"the kept rule {kept_rule.rule.version}"
            notes.append(f"decided by {by}: positive at {kept_rule.rule.threshold:g}")
            notes += kept_rule.caveats(
                model=first.model, confidence=options.confidence, build=first.build
            )
        result = _result(
            workspace,
            rounds,
            read,
            prompt.version,
            options,
            trust or TrustOptions(),
            show_all=show_all,
        )
        if claims is not None:
            claims = claims.only({row.id for row in result.shown.dataset.rows})
        result = replace(
            result,
            claims=claims,
            flips=flips,
            order=order,
            stats=stats,
            first=first_said,
            notes=(*notes, *result.notes, *describe_spending(stats)),
        )
        journal = RunJournal(workspace.database, run_id)
        event = _measured(result, prompt, client, source=source)
        journal.record(event.kind, write_event(event))
    return result


def _measured(
    result: BenchResult,
    prompt: JudgePrompt,
    client: Client,
    *,
    source: BenchSource | None,
) -> JudgeMeasured:
    """Return what the run keeps of its result: figures, and no text of a row."""
    dataset = result.judged.dataset
    body = result.to_json()
    checks = {name: body[name] for name in KEPT_CHECKS if name in body}
    if "repeats" in body:
        checks["repeats"] = {
            "self_agreement": body["repeats"]["self_agreement"],
            "f1": body["repeats"]["f1"],
        }
    return JudgeMeasured(
        judge=f"{prompt.name}@{prompt.version}",
        model=client.model.name,
        endpoint=client.model.endpoint,
        simulated=client.model.simulated,
        settings=client.settings.answering(),
        data=dataset.name if source is None else Path(source.data).name,
        data_hash=dataset.content_hash,
        rows=len(dataset),
        sealed=result.sealed,
        benchmark=result.benchmark.to_json(),
        summary=result.summary.to_json(),
        by={value: part.to_json() for value, part in result.by.items()},
        bins=tuple(as_json(one) for one in bins_of_verdicts(result.judged)),
        checks=checks,
        notes=tuple(dict.fromkeys((*dataset.notes, *result.notes))),
    )


def _judge_rows(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    options: BenchOptions,
    settings: JudgeSettings,
    rule: DecisionRule | None,
    watch: Watch,
    question: AskedQuestion | None,
) -> tuple[list[JudgedDataset], ClaimedResponses | None]:
    """Judge the rows as often as was asked; by claim once."""
    ask = partial(judge, prompt, dataset, client, settings=settings, rule=rule, question=question)
    if options.claims is not None:
        from ...judges.claims import judge_claims

        claimed = judge_claims(
            prompt,
            dataset,
            client,
            options.claims,
            settings=settings,
            rule=rule,
            progress=partial(watch, "claims"),
        )
        return [claimed.judged], claimed
    rounds = range(options.repeat)
    repeats = [partial(ask, repeat=k, progress=partial(watch, f"round {k + 1}")) for k in rounds]
    return ask_together(repeats), None


def _result(
    workspace: Workspace,
    rounds: Sequence[JudgedDataset],
    read: ReadRows,
    version: str,
    options: BenchOptions,
    trust: TrustOptions,
    *,
    show_all: bool = False,
) -> BenchResult:
    """Measure what was judged, and enter in the ledger whose figures were seen."""
    first, by = rounds[0], options.by
    macro: dict[str, MacroMean] = {}
    if by is not None and first.scale.kind != "choice":
        from ...judges.metrics.macro_average import macro_means

        macro = macro_means(first, by)
    hidden = seal_of(workspace, read.dataset, show_all=show_all, by="bench")
    enter_look(workspace, read.looked_at_by(version), read.dataset, by="bench")
    benchmark, shown = measure(first), hidden.shown(first)
    # A claim's threshold decides about a claim.
    summary = summarize(first, benchmark.to_json(), shown=shown, has_threshold=not options.by_claim)
    return BenchResult(
        judged=first,
        benchmark=benchmark,
        summary=summary,
        by={} if by is None else by_column(first, by),
        macro=macro,
        ceilings=check_reliability(rounds, trust, shown=hidden.shown),
        shown=shown,
        sealed=hidden.count,
        notes=(*read.notes, *hidden.notes(), *(() if read.notes else hidden.look_note())),
    )


def rows_for_function(source: RowSource, reading: Mapping[str, Any], registry: Registry) -> Dataset:
    """Read rows for a judge without a prompt: its inputs are found by name, or by what the columns
    hold.

    Args:
        reading: Arguments of `load_dataset`, `label_scale` as text; `skip_incomplete` means nothing
            without a prompt.

    Raises:
        DataError: The rows cannot be read, or none has a label.
    """
    from ...judges.files import (
        RawRoles,
        infer_raw_scale,
        judge_inputs,
        mapped_words,
        name_of,
        read_raw_rows,
        with_audited_labels,
    )

    stated = parse_label_scale(reading["label_scale"]) if reading["label_scale"] else None
    roles = RawRoles(
        inputs=reading["columns"],
        label=reading["label"],
        id=reading["id"],
        group=reading["group"],
        words=mapped_words(reading.get("label_map")),
        low_is_good=stated is not None and stated.low_is_good,
    )
    raw = read_raw_rows(source, roles, judges=judge_inputs(registry))
    rows = raw.rows[: reading["limit"]]
    if all(row.label is None for row in rows):
        raise DataError(f"{source}: no row has a label in column {reading['label'] or 'label'!r}")
    labels = infer_raw_scale(raw.rows) if stated is None else stated
    dataset = Dataset.of(rows, labels=labels, name=name_of(source), notes=raw.notes)
    audited = reading.get("audited")
    return (
        dataset
        if audited is None
        else with_audited_labels(dataset, audited, complete=reading["limit"] is None)
    )


def bench_function(
    workspace: Workspace,
    function: JudgeFunction,
    dataset: Dataset,
    *,
    scale: OutputScale | None = None,
    by: str | None = None,
    seal: bool = False,
    sealed: bool = False,
) -> BenchResult:
    """Benchmark a judge that is a Python function; its figures are entered in the ledger as those
    of any judge.

    Raises:
        InputError: It scored no row, its scores need a scale, or no row has the column.
    """
    from ...judges.function_judge import judge_with_function

    if by is not None:
        require_column(dataset, by)
    if seal:
        seal_first(workspace, dataset)
    read = read_open(workspace, dataset, sealed=sealed)
    judged = judge_with_function(function, read.dataset, scale=scale)
    options = BenchOptions(by=by)
    result = _result(workspace, [judged], read, version_of(judged), options, TrustOptions())
    return replace(result, first=read.notes)


def describe_spending(stats: ClientStats) -> tuple[str, ...]:
    """Return notes on the calls, what they cost, and which parameters the endpoint refused."""
    cost = f"${stats.cost:.4f}" if stats.price_known else "price unknown"
    tokens = stats.tokens_in + stats.tokens_out
    notes = [f"{stats.calls} calls, {stats.recorded} cached, {tokens:,} tokens, {cost}"]
    return (*notes, *describe_parameters(stats.dropped, stats.ignored), *stats.notes)


def describe_parameters(dropped: Iterable[str], ignored: Mapping[str, int]) -> tuple[str, ...]:
    """Return notes on the parameters of requests that the endpoint refuses or ignores.

    Args:
        dropped: Those it refuses; they are left out, or sent otherwise.
        ignored: Those it ignored, and in how many replies.
    """
    notes: list[str] = []
    dropped = sorted(dropped)
    if names := [name for name in dropped if name not in CHANGES]:
        notes.append(f"left out because the endpoint refuses them: {', '.join(names)}")
    if changes := [CHANGES[name] for name in dropped if name in CHANGES]:
        notes.append(f"refused by the endpoint: {', '.join(changes)}")
    if ignored:
        ignored_names = ", ".join(
            f"{name} in {replies:,} replies" for name, replies in sorted(ignored.items())
        )
        notes.append(f"ignored by the endpoint: {ignored_names}")
    return tuple(notes)


def write_verdicts(judged: JudgedDataset, path: Path) -> None:
    """Write one line a row as JSONL: what `score` and `slices` read, with reasons for unscored
    rows.
    """
    from ...judges.files.verdict_columns import CLASSES, SCALES
    from .make_data import written_beside

    decides = judged.asked_scale is not None and judged.scale.kind != "choice"
    with written_beside(path) as file:
        rows = zip(judged.dataset.rows, judged.answers, row_keys(judged.dataset), strict=True)
        for row, answer, key in rows:
            line: dict[str, Any] = {  # Any: JSON
                "id": row.id,
                "judge": judged.judge,
                "judge_model": judged.model,
                "simulated": judged.simulated,
                "label": row.label,
                "group": row.group,
            }
            line |= judged.distribution_fields(answer)
            if decides:
                scales = judged.dataset.labels, judged.scale
                line[SCALES] = " ".join(map(label_scale_text, scales))
            if isinstance(answer, Verdict):
                line |= {
                    "verdict": int(answer.positive),
                    "score": decided_probability(answer, judged.scale) if decides else answer.score,
                    "confidence": answer.confidence,
                    "rationale": answer.rationale,
                    "unscored": None,
                }
                if answer.model:
                    line["decided_by"] = answer.model
            else:
                line |= dict.fromkeys(("verdict", "score", "confidence"))
                line |= {"unscored": answer.reason, "detail": answer.detail}
            if judged.scale.kind == "choice":
                line[CLASSES] = orjson.dumps(judged.scale.labels).decode()
            file.write(line | {KEY_COLUMN: key.hex(), "metadata": dict(row.meta)})
