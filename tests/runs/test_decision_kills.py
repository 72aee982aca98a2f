"""Commands on decision models that are killed at twenty places, and given again."""

import json
import os
import shlex
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import Registry
from judgewright.judges.simulated import (
    DecisionService,
    Faults,
    Server,
    Simulated,
    make_app,
)
from judgewright.optimize import VOLATILE
from judgewright.runs.actions import read_run
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import CallStore, Workspace, list_runs

from .fork_server import ForkServer, fork_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="commands are forks"),
]
AT_ONCE = 4
SLOW = Faults.parse("latency=0.01")
TOGETHER = """
import json
from pathlib import Path
from dataclasses import replace
from judgewright.judges import Registry, judge_together, load_dataset, measure
from judgewright.runs.commands.model_access import asking_environment
from judgewright.runs.store import Workspace
from judgewright.runs.config.command_options import ModelOptions
from judgewright.runs.store.run_clients import start_run_client

one = Registry().get("groundedness")
prompts = [one, *(replace(one, criteria=f"Is the statement {how}?") for how in ("true", "brief"))]
rows = load_dataset(Path("../rows.jsonl"), inputs=one.inputs, scale=one.scale)
models, asking = ModelOptions(model="one", concurrency=4), asking_environment(Path(), "one")
with Workspace(Path()) as place:
    with start_run_client(place, "bench", {}, models, asking) as (_, client):
        judged = judge_together(prompts, rows, client)
print(json.dumps([measure(one).to_json() for one in judged]))
"""
"""Three judges of the same inputs about each row, in one request."""


def billed_by(servers: Sequence[Server]) -> int:
    """How many requests the servers have billed, together."""
    billed = 0
    for server in servers:
        with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/stats") as answer:
            billed += json.load(answer)["billed"]
    return billed


def result(printed: Any) -> Any:
    """What a command found out, without what it took."""
    took = {"run", "calls", "cost", "seconds", "tokens", "latency", "recorded", "speed"}
    if isinstance(printed, list):
        return [result(one) for one in printed]
    return {name: value for name, value in printed.items() if name not in took}


def events_of(folder: Path) -> list[tuple[str, Any]]:
    """Every event of the one run, without how many calls it needed."""
    with Workspace(folder) as place:
        (one,) = list_runs(place.database)
        found = read_run(place, one.run_id).events
    return [(event.kind, {**event.payload, VOLATILE: None}) for event in found]


class Killing:
    """Gives a command again and again, and holds what it paid for against what it kept."""

    def __init__(self, commands: ForkServer, servers: Sequence[Server]) -> None:
        self._commands, self._servers = commands, servers

    def run(self, folder: Path, words: Sequence[str], *, kills: int, total: int) -> Any:
        """Run it in a folder, killed at so many places of a total of requests."""
        folder.mkdir()
        before = billed_by(self._servers)
        for kill in range(kills):
            self._commands.start(folder, *words)
            aim = before + total * (kill + 1) // (kills + 4)
            while billed_by(self._servers) < aim:
                assert self._commands.ended(0.002) is None
            self._commands.kill()
        self._commands.start(folder, *words)
        printed = self._commands.finish(0, 1, 4)
        with Workspace(folder) as place:
            runs = list_runs(place.database)
            summaries = [CallStore(place.database, one.run_id).summary() for one in runs]
        assert sum(summary.repeated for summary in summaries) == 0
        # What a kill finds on the wire, and what was answered and is not yet written down.
        in_doubt = sum(summary.in_doubt for summary in summaries)
        self.billed = billed_by(self._servers) - before
        done = sum(summary.done for summary in summaries)
        assert self.billed - done <= in_doubt <= kills * 2 * AT_ONCE
        return printed


@pytest.fixture
def killing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> Callable[[Sequence[str], int, Callable[[Path, Any], Any], int], None]:
    """What runs a command undisturbed, then killed, and compares what `figures` makes of both."""
    models = tmp_path / "models.yaml"
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(models))

    def compare(
        words: Sequence[str], kills: int, figures: Callable[[Path, Any], Any], documents: int
    ) -> None:
        write_demo_rows(tmp_path / "rows.jsonl", documents=documents)
        decisions = DecisionService(api, faults=SLOW).app()
        with (
            Server(decisions) as fast,
            Server(make_app(Simulated(), SLOW)) as slow,
            fork_server() as commands,
        ):
            models.write_text(
                f"one: {{base_url: '{fast.base_url}', model: simulated, api: {api}}}\n"
                f"chat: {{base_url: '{slow.base_url}', model: simulated}}\n"
            )
            killing = Killing(commands, (fast, slow))
            calm, rough = tmp_path / "calm", tmp_path / "rough"
            expected = figures(calm, killing.run(calm, words, kills=0, total=0))
            printed = killing.run(rough, words, kills=kills, total=killing.billed)
            assert figures(rough, printed) == expected

    return compare


@pytest.mark.parametrize("command", ["bench", "calibrate", "cascade", "together"])
@pytest.mark.parametrize("api", ["decisions", "systemone", "sglang"])
def test_twenty_kills_change_no_figure_and_pay_for_no_answer_twice(
    tmp_path: Path, killing: Any, command: str
) -> None:
    """SIGKILL after every so many answers: what was answered and kept is not asked again."""
    (tmp_path / "together.py").write_text(TOGETHER)
    both = Registry().get("groundedness").to_yaml(lineage=False)
    (tmp_path / "both.yaml").write_text(both + "cascade: {model: chat, low: 0.2, high: 0.8}\n")
    words = shlex.split(f"--model one --json --concurrency {AT_ONCE} --workspace .")
    begin = {
        "cascade": ("bench", "../both.yaml", "../rows.jsonl", *words),
        "together": ("python", "../together.py"),
    }.get(command, (command, "groundedness", "../rows.jsonl", *words))
    killing(begin, 20, lambda _, printed: result(printed), 250)


@pytest.mark.parametrize("api", ["decisions", "systemone", "sglang"])
def test_a_search_that_is_killed_ends_with_the_events_of_an_undisturbed_one(killing: Any) -> None:
    """SIGKILL of `optimize` at seven places for each interface, on the judge's and the optimizer's
    calls.
    """
    words = shlex.split(
        "optimize groundedness ../rows.jsonl --model one --optimizer-model chat --target precision"
        " --objective 'do not call unsupported statements grounded' --steps 2 --proposer textgrad"
        f" --json --concurrency {AT_ONCE} --workspace ."
    )
    killing(words, 7, lambda folder, _: events_of(folder), 60)
