"""The versions of one judge as a tree: what came from what, in which run, and what the gate
said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...judges import JudgePrompt
from ...optimize.events import BestCandidate
from ..store.banks import banks_of
from ..store.journal import get_run
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .decide import HUNKS
from .run_summary import read_run, uncounted
from .verification import decisions_about


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One version of a judge."""

    version: str
    former: str
    """As `JudgePrompt.former`."""
    parent: str | None
    """The version it was made from, whether or not the tree has it."""
    depth: int
    """How many known ancestors it has."""
    current: bool
    """Whether the judge's plain name means this version."""
    kept: bool
    """Whether the registry has it; a run's prompt that nobody accepted is not there."""
    note: str
    runs: tuple[str, ...]
    """The runs that found it, oldest first."""
    outcome: str | None
    """What the gate said of it in the last of them; None where none has decided."""
    created: str | None
    """When the first of them found it, UTC in ISO 8601; None for a version that no run found."""


@dataclass(slots=True, kw_only=True)
class _Found:
    """A version that runs found."""

    prompt: JudgePrompt
    parent: str
    created: str
    runs: list[str]
    outcome: str | None = None


def lineage(workspace: Workspace, name: str) -> tuple[Node, ...]:
    """Return every version of a judge that the shelf or a run knows, each behind its parent and
    before its cousins.

    Raises:
        PromptError: There is no judge of that name, on the shelf or in a run.
    """
    starts, by_runs = _from_runs(workspace, name)
    registry = workspace.registry
    on_shelf = name in registry.names()
    registered = {prompt.version: prompt for prompt in registry.versions(name)} if on_shelf else {}
    current = registry.get(name).version if on_shelf or not starts else None
    by_runs |= {
        version: one
        for version, p in registered.items()
        if version not in by_runs and (one := _composed(workspace, p))
    }
    prompts = {**starts, **{version: one.prompt for version, one in by_runs.items()}, **registered}
    parents = {version: prompt.parent for version, prompt in prompts.items()}
    # Steps in between were kept by no one: a run's best candidate descends from the prompt that the
    # run began with.
    parents |= {
        version: one.parent for version, one in by_runs.items() if version not in registered
    }
    since = {prompt.former: version for version, prompt in prompts.items() if prompt.former}
    parents = {version: since.get(parent or "", parent) for version, parent in parents.items()}
    return tuple(
        Node(
            version=version,
            former=prompts[version].former,
            parent=parents[version],
            depth=depth,
            current=version == current,
            kept=version in registered,
            note=prompts[version].note,
            runs=tuple(by_runs[version].runs) if version in by_runs else (),
            outcome=by_runs[version].outcome if version in by_runs else None,
            created=by_runs[version].created if version in by_runs else None,
        )
        for version, depth in _tree(parents)
    )


def _from_runs(workspace: Workspace, name: str) -> tuple[dict[str, JudgePrompt], dict[str, _Found]]:
    """Return the prompts that runs began with, and those they found, by version."""
    starts: dict[str, JudgePrompt] = {}
    by_runs: dict[str, _Found] = {}
    banks = banks_of(workspace)
    for info in workspace.runs("optimize"):
        before = RunConfig.from_json(info.config, banks).judge
        if before.name != name:
            continue
        starts.setdefault(before.version, before)
        run = read_run(workspace, info.run_id, uncounted)
        if run.after is None or not run.words_differ:
            continue
        version = run.after.version
        if version not in by_runs:
            created = run.when(BestCandidate)
            by_runs[version] = _Found(
                prompt=run.after, parent=before.version, created=created, runs=[]
            )
        by_runs[version].runs.append(info.run_id)
        if run.decision is not None:
            by_runs[version].outcome = run.decision.outcome
    return starts, by_runs


def _composed(workspace: Workspace, prompt: JudgePrompt) -> _Found | None:
    """Return the runs that composed a version of another run's hunks; None where none did."""
    gated = [one for one in decisions_about(workspace, prompt) if one.kind == HUNKS]
    if not gated:
        return None
    first = get_run(workspace.database, gated[0].run)
    runs = [one.run for one in gated]
    return _Found(
        prompt=prompt,
        parent=prompt.parent or "",
        created=first.created,
        runs=runs,
        outcome=gated[-1].outcome,
    )


def _tree(parents: Mapping[str, str | None]) -> Iterator[tuple[str, int]]:
    """Yield each version with its depth: parents before children, children in the order they became
    known.
    """
    children: dict[str | None, list[str]] = {}
    for version, parent in parents.items():
        children.setdefault(parent if parent in parents and parent != version else None, []).append(
            version
        )
    seen: set[str] = set()
    waiting = [(root, 0) for root in reversed(children.get(None, []))]
    while waiting or len(seen) < len(parents):
        if not waiting:  # files written by hand may name each other as parents
            waiting = [(next(version for version in parents if version not in seen), 0)]
        version, depth = waiting.pop()
        if version in seen:
            continue
        seen.add(version)
        yield version, depth
        waiting += [(child, depth + 1) for child in reversed(children.get(version, []))]
