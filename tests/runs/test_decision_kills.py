"""Commands on decision models that are killed at twenty places, and given again."""

import json
import os
import urllib.request
from pathlib import Path

import pytest

from judgewright.judges.simulated import DecisionOptions, Faults, Server, make_decisions_app
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import CallStore, Workspace, list_runs

from .fork_server import fork_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="commands are forks"),
]
KILLS, AT_ONCE = 20, 4


def stats(server: Server) -> dict[str, int]:
    """What the server has counted."""
    with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


def result(printed: dict[str, object]) -> dict[str, object]:
    """What a command found out, without what it took."""
    took = {"run", "calls", "cost", "seconds", "tokens", "latency", "recorded", "speed"}
    return {name: value for name, value in printed.items() if name not in took}


@pytest.mark.parametrize("command", ["bench", "calibrate"])
@pytest.mark.parametrize("api", ["decisions", "systemone", "sglang"])
def test_twenty_kills_change_no_figure_and_pay_for_no_answer_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str, command: str
) -> None:
    """SIGKILL after every so many questions: what was answered and kept is not asked again."""
    models, rows = tmp_path / "models.yaml", tmp_path / "rows.jsonl"
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(models))
    write_demo_rows(rows, documents=250)
    words = (command, "groundedness", str(rows), "--model", "one", "--json")
    words += ("--concurrency", str(AT_ONCE), "--workspace", ".")
    found: list[dict[str, object]] = []
    total = 0
    for kills in (0, KILLS):
        folder = tmp_path / f"kills{kills}"
        folder.mkdir()
        options = DecisionOptions(faults=Faults.parse("latency=0.01"))
        with Server(make_decisions_app(api, options=options)) as server, fork_server() as commands:
            models.write_text(
                f"one: {{base_url: '{server.base_url}', model: simulated, api: {api}}}\n"
            )
            for kill in range(kills):
                commands.start(folder, *words)
                while stats(server)["questions"] < total * (kill + 1) // (KILLS + 4):
                    assert commands.ended(0.002) is None
                commands.kill()
            commands.start(folder, *words)
            found.append(result(commands.finish(0)))
            paid = stats(server)
        with Workspace(folder) as place:
            runs = list_runs(place.database)
            summaries = [CallStore(place.database, one.run_id).summary() for one in runs]
        assert sum(summary.repeated for summary in summaries) == 0
        # What a kill finds on the wire, and what was answered and is not yet written down.
        in_doubt = sum(summary.in_doubt for summary in summaries)
        assert paid["billed"] - paid["bodies"] <= in_doubt <= kills * 2 * AT_ONCE
        total = paid["questions"]
        assert total == paid["billed"]
    assert found[0] == found[1]
