"""A judge's versions as people ask about them: who made each and when, and how it was
measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...judges import Registry
from ...optimize.events import JudgeMeasured
from ..actions.lineage import Node, lineage
from ..actions.run_summary import RunSummary, read_run, uncounted
from ..store.journal import list_runs
from ..store.workspace import Workspace

Json = Mapping[str, Any]  # Any: JSON
SHIPPED = "shipped with Judgewright"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionHistory:
    """One version of a judge."""

    node: Node
    author: str
    decided: str
    """What a person decided about it, and who; empty where nobody did."""
    decided_at: str
    """UTC, ISO 8601."""
    date: str | None
    """UTC, ISO 8601: when a run found it, else when its file was written; None for a shipped
    version.
    """
    figures: tuple[Json, ...]
    """How it was measured on some rows, newest first."""


def judge_history(workspace: Workspace, name: str) -> tuple[VersionHistory, ...]:
    """Return every version of a judge that the registry or a run knows, parents before their
    children.

    Raises:
        PromptError: There is no judge of that name.
    """
    nodes = lineage(workspace, name)
    shipped = Registry()
    shipped_versions = (
        {prompt.version for prompt in shipped.versions(name)}
        if name in shipped.names()
        else set[str]()
    )
    runs = _runs_about(workspace, name)
    measured = _figures(runs.values())
    history: list[VersionHistory] = []
    for node in nodes:
        written = _written(workspace, name, node.version) if node.kept else None
        finders = [runs[run_id] for run_id in node.runs if run_id in runs]
        decided, decided_at = _decided(node, finders)
        history.append(
            VersionHistory(
                node=node,
                author=SHIPPED if node.version in shipped_versions else _author(node, finders),
                decided=decided,
                decided_at=decided_at,
                date=node.created or (None if node.version in shipped_versions else written),
                figures=(*measured.get(node.version, ()), *measured.get(node.former, ())),
            )
        )
    return tuple(history)


def _runs_about(workspace: Workspace, name: str) -> dict[str, RunSummary]:
    """Return the benchmarks and optimizations of a judge by id, oldest first."""
    runs: dict[str, RunSummary] = {}
    for info in list_runs(workspace.database, "bench", "optimize") if workspace.exists else ():
        if info.kind == "bench" and info.config.get("judge") == name:
            runs[info.run_id] = read_run(workspace, info.run_id, uncounted)
        elif info.kind == "optimize":
            run = read_run(workspace, info.run_id, uncounted)
            if run.before.name == name:
                runs[info.run_id] = run
    return runs


def _figures(runs: Iterable[RunSummary]) -> dict[str, list[Json]]:
    """Return how each version was measured, newest first."""
    by_version: dict[str, list[Json]] = {}
    for run in runs:
        measured = run.last(JudgeMeasured)
        if measured is not None:
            version = measured.judge.partition("@")[2]
            _add(by_version, version, run, measured.benchmark, f"{measured.data}, all rows")
        if run.record.kind == "optimize" and run.started is not None:
            data = run.started.data
            closing = run.closing
            if closing is not None and closing.after is not None and run.after is not None:
                # Both versions on the same rows.
                which = "all rows" if closing.includes_sealed_rows else "open rows"
                _add(by_version, run.before.version, run, closing.before.pooled, f"{data}, {which}")
                own = "" if run.new_rule is None else f", at threshold {run.new_rule.threshold:g}"
                _add(
                    by_version,
                    run.after.version,
                    run,
                    closing.after.pooled,
                    f"{data}, {which}{own}",
                )
            elif run.benchmark is not None:
                _add(by_version, run.before.version, run, run.benchmark, f"{data}, open rows")
    return {version: figures[::-1] for version, figures in by_version.items()}


def _add(
    by_version: dict[str, list[Json]],
    version: str,
    run: RunSummary,
    benchmark: Json,
    data: str,
) -> None:
    by_version.setdefault(version, []).append(
        {
            **{name: benchmark[name] for name in ("model", "simulated", "n", "metrics")},
            "run_id": run.run_id,
            "kind": run.record.kind,
            "created": run.record.created,
            "data": data,
        }
    )


def _author(node: Node, finders: Sequence[RunSummary]) -> str:
    """Say who made a version, as far as anything here knows it."""
    if finders:
        started = finders[0].started
        author = "a run"
        if started is not None:
            by_hand = started.proposer == "human"
            author = (
                "a person's edit"
                if by_hand
                else f"{started.proposer} with {started.optimizer_model}"
            )
        return author
    if node.runs:
        return "hunks of a run, chosen by a person"
    return "a file in the registry" if node.kept else "not known"


def _decided(node: Node, finders: Sequence[RunSummary]) -> tuple[str, str]:
    """Return who decided what about a version last, and when; empty where nobody did."""
    for run in reversed(finders):
        for review, at in zip(run.reviews[::-1], run.review_times[::-1], strict=True):
            if review.version in (node.version, node.former):
                return f"{review.verb} by {review.who}", at
    return "", ""


def _written(workspace: Workspace, name: str, version: str) -> str | None:
    """Return when a version's file was written; None where it has none, as a shipped one."""
    try:
        path = workspace.root / "prompts" / name / f"{version}.yaml"
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OSError:
        return None
