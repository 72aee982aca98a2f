"""Lineage: the tree of a judge's versions, from the shelf and from the runs that found them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.judges import JudgePrompt, PromptError, Registry
from judgewright.runs.actions import GATED, HUNKS, Node, lineage
from judgewright.runs.store import RunJournal, Workspace, create_run

from .stored_events import stored

PROMPT = Registry().get("groundedness")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace."""
    with Workspace(tmp_path) as workspace:
        yield workspace


def found_by_run(
    place: Workspace, before: JudgePrompt, after: JudgePrompt | None, outcome: str | None
) -> str:
    """A run as its journal tells it."""
    run = create_run(
        place.database,
        "optimize",
        {
            "prompt": before.to_yaml(),
            "data": "rows.jsonl",
            "objective": "precision",
            "model": "simulated",
        },
    )
    journal = RunJournal(place.database, run)
    body = (
        {"version": after.version, "prompt": after.to_yaml()}
        if after
        else {"version": None, "prompt": None}
    )
    journal.record("survivor", body)
    if outcome:
        journal.record("decision", stored("decision", {"outcome": outcome}))
    return run


def by_version(nodes: tuple[Node, ...]) -> dict[str, Node]:
    """The nodes by version, each once."""
    assert len({node.version for node in nodes}) == len(nodes)
    return {node.version: node for node in nodes}


def test_a_workspace_without_runs_has_the_shipped_version_alone(place: Workspace) -> None:
    """It is current, has no parent, and no run found it."""
    (node,) = lineage(place, "groundedness")
    assert (node.version, node.depth, node.current, node.kept, node.runs) == (
        PROMPT.version,
        0,
        True,
        True,
        (),
    )
    assert not place.exists
    with pytest.raises(PromptError, match="no judge 'nobody'"):
        lineage(place, "nobody")


def test_parents_stand_before_their_children_and_say_who_found_them(place: Workspace) -> None:
    """Kept versions and mere proposals; a step in between that nobody kept does not break the
    tree.
    """
    step = PROMPT.edited(criteria="a step nobody kept")
    child = step.edited(criteria="kept", note="textgrad step 2")
    cousin = PROMPT.edited(criteria="refused")
    grandchild = child.edited(criteria="kept too")
    first = found_by_run(place, PROMPT, child, "accepted")
    again = found_by_run(place, PROMPT, child, "undecided")
    refused = found_by_run(place, PROMPT, cousin, "refused")
    found_by_run(place, PROMPT, None, None)
    place.registry.keep(JudgePrompt(**{**_fields(child), "parent": PROMPT.version}))
    running = found_by_run(place, child, grandchild, None)
    nodes = lineage(place, "groundedness")
    named = by_version(nodes)
    assert [node.depth for node in nodes] == [0, 1, 2, 1]
    order = [node.version for node in nodes]
    assert all(
        node.parent is None or order.index(node.parent) < order.index(node.version)
        for node in nodes
    )
    assert order.index(grandchild.version) == order.index(child.version) + 1
    kept = named[child.version]
    assert (kept.parent, kept.current, kept.kept, kept.outcome) == (
        PROMPT.version,
        True,
        True,
        "undecided",
    )
    assert kept.runs == (first, again)
    assert kept.created is not None
    assert kept.created < (named[cousin.version].created or "")
    assert (named[cousin.version].outcome, named[cousin.version].kept) == ("refused", False)
    assert (named[grandchild.version].outcome, named[grandchild.version].runs) == (None, (running,))
    assert named[cousin.version].runs == (refused,)


def test_a_version_composed_of_hunks_says_which_run_gated_it(place: Workspace) -> None:
    """It is on the shelf, no optimization found it, and the run that decided about it is told."""
    composed = PROMPT.edited(criteria="some of the hunks")
    place.registry.keep(composed)
    run = create_run(place.database, HUNKS, {"question": {"after": {"version": composed.version}}})
    decision = {"outcome": "accepted", "accepted": True, "reason": "", "simulated": True}
    RunJournal(place.database, run).record(GATED, stored(GATED, {"decision": decision}))
    node = by_version(lineage(place, "groundedness"))[composed.version]
    assert (node.runs, node.outcome, node.parent, node.current) == (
        (run,),
        "accepted",
        PROMPT.version,
        True,
    )
    assert node.created is not None


def test_a_run_that_moved_the_threshold_alone_found_no_version(place: Workspace) -> None:
    """The version stays that of the run which wrote it, and its new threshold stands with the
    figures.
    """
    child = PROMPT.edited(criteria="better")
    first = found_by_run(place, PROMPT, child, "accepted")
    place.registry.keep(JudgePrompt(**{**_fields(child), "parent": PROMPT.version}))
    found_by_run(place, child, child, "undecided")
    node = by_version(lineage(place, "groundedness"))[child.version]
    assert (node.runs, node.outcome, node.parent) == ((first,), "accepted", PROMPT.version)


def test_a_prompt_that_only_a_run_knows_has_a_tree(place: Workspace) -> None:
    """A judge read from a file is on no shelf; its run still tells where its proposal came from."""
    own = JudgePrompt(**{**_fields(PROMPT), "name": "mine"})
    child = own.edited(criteria="better")
    found_by_run(place, own, child, "refused")
    assert [(n.version, n.depth, n.current) for n in lineage(place, "mine")] == [
        (own.version, 0, False),
        (child.version, 1, False),
    ]


def test_files_that_name_each_other_as_parents_still_make_a_list(place: Workspace) -> None:
    """What was written by hand ends, and shows every version once."""
    one, two = PROMPT.edited(criteria="one"), PROMPT.edited(criteria="two")
    for prompt, parent in ((one, two.version), (two, one.version)):
        place.registry.keep(JudgePrompt(**{**_fields(prompt), "parent": parent}))
    assert set(by_version(lineage(place, "groundedness"))) == {
        PROMPT.version,
        one.version,
        two.version,
    }


def _fields(prompt: JudgePrompt) -> dict[str, object]:
    return {name: getattr(prompt, name) for name in JudgePrompt.__dataclass_fields__}
