"""The page says what few labels can show, and makes the queue of the rows to label next by one
button.
"""

import json
import re
from pathlib import Path

import pytest

from judgewright.runs.actions.bench import run_bench
from judgewright.runs.config import Environment
from judgewright.runs.config.command_options import BenchOptions, ModelOptions, RowOptions
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.labels.queue import QueueConfig
from judgewright.runs.store import Workspace, list_runs
from judgewright.runs.store.bench_config import BenchSource
from judgewright.runs.store.run_config import read_rows

from .conftest import post, visit


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with a bench of 120 rows, half of them without a label."""
    write_demo_rows(tmp_path / "all.jsonl", documents=60)
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()[:120]
    rows = [json.loads(line) for line in lines]
    for row in rows[::2]:
        del row["label"]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        prompt = workspace.registry.get("groundedness")
        options = RowOptions()
        run_bench(
            workspace,
            prompt,
            read_rows(prompt, data, options),
            BenchOptions(),
            ModelOptions(model="simulated"),
            Environment(),
            watch=lambda *_: None,
            source=BenchSource(data=str(data), reading=options.as_arguments()),
        )
    return tmp_path


def test_a_bench_begins_with_its_sentence_and_leads_to_the_rows_to_label(place: Path) -> None:
    """One press, and the first row is there; the queue has as many rows as were promised."""
    desk = visit(place)
    with Workspace(place) as workspace:
        (bench,) = list_runs(workspace.database, "bench")
        page = desk.get(f"/runs/{bench.run_id}").text
        lead = re.findall(r'<p class="lead">(.*?)</p>', page)[0]
        assert lead.startswith(("The simulated model (made up) agrees", "These rows do not show"))
        assert "What these labels can show" in page
        assert "60 labels leave a gate a holdout of 27 rows" in page
        fields = dict(re.findall(r'name="(data|next|run|annotator)" value="([^"]*)"', page))
        assert fields["data"] == "rows.jsonl"
        status, there = post(desk, "/label", **fields | {"annotator": "ada"})
        assert status == 303
        (queue,) = list_runs(workspace.database, "queue")
        config = QueueConfig.from_json(queue.config)
        assert len(config.rows) == min(60, int(fields["next"]))
        assert desk.get(there).status_code == 200


@pytest.mark.parametrize("number", ["0", "-3", "1e9", "x", "99999999999"])
def test_a_number_of_rows_that_is_none_is_refused(place: Path, number: str) -> None:
    """With one sentence."""
    desk = visit(place)
    with Workspace(place) as workspace:
        (bench,) = list_runs(workspace.database, "bench")
        fields = {"data": "rows.jsonl", "next": number, "run": bench.run_id, "annotator": "ada"}
        status, said = post(desk, "/label", **fields)
        assert status == 404
        assert "is no number of rows" in said
