"""A search with decided cases, study and TextGrad that is killed at twenty places, and given
again.
"""

import json
import os
import random
import shlex
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import CallStore, HoldoutLedger, Workspace, list_runs

from .fork_server import ForkServer, fork_server
from .test_exchange import answer
from .test_kills import ENDS, PROGRESS, Reading, events_of, kill_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="commands are forks"),
]
KILLS, AT_ONCE = 20, 8
GOAL = "--objective precision --target precision --steps 2 --seed 3 --gate-anyway --json"


def work(
    commands: ForkServer, folder: Path, words: Sequence[str], aims: Sequence[int]
) -> tuple[str, int]:
    """Give a command again until it ends, killed at each of these counts of what is kept; return
    its run, and how often it was killed. What it asks for in files is answered.
    """
    dice, reading, left, kills = random.Random(5), Reading(folder), list(aims), 0
    while True:
        commands.start(folder, *words)
        if left:
            aim = left[0]
            if kill_at(commands, lambda: reading.count(PROGRESS) >= aim, dice.uniform(0, 0.02)):  # noqa: B023
                kills += 1
                left.pop(0)
                continue
            body = json.loads((folder / "said.txt").read_text())
        else:
            body = commands.finish(*ENDS, 3)
        if "error" not in body:
            return body["run"], kills
        assert body["error"]["kind"] == "Waiting", body
        answer(folder / "x")


@pytest.mark.parametrize("via", ["live", "files"])
@pytest.mark.parametrize("proposers", ["cases", "study", "cases,study,textgrad"])
def test_twenty_kills_of_a_search_change_no_event_and_pay_for_no_call_twice(
    tmp_path: Path, measured: Callable[[str], None], proposers: str, via: str
) -> None:
    """From the split to the gate: the run ends with the events of an undisturbed one."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=40)
    places = [tmp_path / "calm", tmp_path / "rough"]
    runs: list[str] = []
    total = kills = 0
    app = make_app(Simulated(), Faults.parse("latency=0.005"))
    with Server(app) as server, fork_server() as commands:
        model = f"--model simulated@{server.base_url} --concurrency {AT_ONCE}"
        if via == "files":
            model = "--model by-hand --via files=x"
        words = f"optimize groundedness ../rows.jsonl --workspace . --proposer {proposers}"
        for folder in places:
            folder.mkdir()
            aims = [total * kill // (KILLS + 1) for kill in range(KILLS)] if total else []
            run, kills = work(commands, folder, shlex.split(f"{words} {model} {GOAL}"), aims)
            runs.append(run)
            total = Reading(folder).count(PROGRESS)
        with urllib.request.urlopen(f"{server.base_url[:-3]}/stats") as reply:
            paid = json.load(reply)
    calm, rough = places
    with Workspace(rough) as place:
        (kept,) = list_runs(place.database)
        summary = CallStore(place.database, kept.run_id).summary()
        assert HoldoutLedger(place.database).verify() > 0
    expected = events_of(calm, runs[0])
    assert events_of(rough, runs[1]) == expected
    assert summary.repeated == 0
    if via == "files":
        asked = [file.read_text().splitlines() for file in (rough / "x").glob("requests-*.jsonl")]
        assert sum(map(len, asked)) == summary.done == summary.attempts
    else:
        # What a kill finds on the wire, and what was answered and is not yet written down.
        twice = paid["billed"] - 2 * paid["bodies"]  # both runs ask the same
        assert 0 <= twice <= summary.in_doubt <= kills * 2 * AT_ONCE
    assert kills == KILLS
    measured(
        f"{kills} kills -9 of `optimize --proposer {proposers}` ({via}): {len(expected)} events as"
        f" undisturbed, {summary.done} calls done, {summary.in_doubt} in doubt, none repeated"
    )
