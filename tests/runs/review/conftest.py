"""One finished run for all tests of the page: hostile rows and words, and a diff with a hunk that
harms.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from judgewright.judges import JudgePrompt, Registry, load_dataset, split_dataset
from judgewright.runs.actions import start_run
from judgewright.runs.actions.bench import run_bench
from judgewright.runs.config import Environment
from judgewright.runs.config.command_options import BenchOptions, ModelOptions, RowOptions
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.labels.queue import create_queue, list_rows, read_rows_to_label
from judgewright.runs.review import review_app
from judgewright.runs.store import (
    Job,
    JobQueue,
    RunConfig,
    RunJournal,
    Workspace,
    create_run,
    get_run,
    list_runs,
    set_state,
)
from judgewright.runs.store.bench_config import BenchSource
from judgewright.runs.store.journal import RunState

TOKEN = "t0ken"
PORT = 8399
SECONDS = 300
"""The longest that a job may take, on a machine that may be busy."""
OURS = f"http://127.0.0.1:{PORT}"
HEADERS = {"origin": OURS, "sec-fetch-site": "same-origin"}
SERVE = "from judgewright.runs.commands.review import review; review()"
ATTACK = (
    "<script>document.title='owned'</script></textarea><img src=x"
    " onerror=\"document.title='owned'\">"
)
DRIVING = "\x1b]52;c;b3duZWQ=\x07\u202edesrever\u2066"
"""A clipboard write, and letters that turn the line around."""
HOSTILE = f"{ATTACK}<a href='javascript:document.title=1'>x</a>{DRIVING}"
GOOD = "Every number and date in the statement must match the source."
HARMFUL = "Be very lenient and give the benefit of the doubt."
ODD = "Pay no heed to </textarea><svg onload=alert(7)> or <b onclick=alert(8)>bold</b>."
"""Hostile too, in words that no row has and without hidden characters: the walk refuses a prompt
with either.
"""


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text outside of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Take note of text."""
        self.text += data


def count_foreign(text: str) -> int:
    """Count what of a page a row, a prompt or an objective has put there: elements, attributes,
    driving characters.
    """
    elements = Elements(text).found
    found = sum(tag in ("img", "iframe", "object", "embed", "base", "style") for tag, _ in elements)
    for _, attrs in elements:
        found += sum(name.startswith("on") or name == "style" for name in attrs)
        found += sum(
            not (attrs.get(name) or "/").startswith(("/", "#"))
            for name in ("href", "action", "src", "formaction")
        )
    return found + len(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text))


def inert(text: str, *, scripts: int = 1) -> None:
    """One script, ours, none in a part of a page; and nothing that `count_foreign` counts."""
    found = [attrs for tag, attrs in Elements(text).found if tag == "script"]
    assert found == [{"src": "/static/review.js"}] * scripts
    assert count_foreign(text) == 0


def post(page: TestClient, path: str, **fields: str) -> tuple[int, str]:
    """Send a form as the page itself does; return the status, and where it leads or what it
    says.
    """
    answer = page.post(path, data=fields, headers=HEADERS)
    return answer.status_code, answer.headers.get("location") or Elements(answer.text).text


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve a workspace with the command, and yield the link that it prints."""
    command = [sys.executable, "-c", SERVE, "--port", "0", "--workspace", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:  # a test that fails must not wait for a server that goes on
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=600)
        assert server.returncode == 0


@dataclass(frozen=True)
class Made:
    """A workspace folder with one finished run."""

    root: Path
    run_id: str
    sealed: tuple[str, ...]
    """What stands in the text of a holdout or final row, and nowhere else."""
    opened: tuple[str, ...]
    """The same of training and validation rows."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Walk once; nobody writes here."""
    root = tmp_path_factory.mktemp("review")
    path = root / "rows.jsonl"
    write_demo_rows(path, documents=200)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["source"] += f"\n[mark {row['id']}] {HOSTILE}"
        row["shelf"] = HOSTILE
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    prompt = Registry().get("groundedness")
    edit = prompt.edited(criteria=f"{prompt.criteria}\n{GOOD} {HARMFUL} {ODD}", note=HOSTILE)
    config = RunConfig(
        prompt=prompt.to_yaml(),
        model="simulated",
        data=str(path),
        objective=f"Avoid false positives. Do not lose more than 15 points of recall. {HOSTILE}",
        target="precision",
        guards=("recall=0.15",),
        proposer="human",
        edit=edit.to_yaml(),
        steps=1,
        slice="all",
        by="channel",
        max_tokens=400,
        gate_anyway=True,
    )
    with Workspace(root) as place:
        result = start_run(place, config, Environment())
    parts = split_dataset(config.dataset(), shares=config.shares)
    opened = {row.id for part in (parts.train, parts.validation) for row in part.rows}
    marks = {row["id"]: f"[mark {row['id']}]" for row in rows}
    return Made(
        root=root,
        run_id=result.run_id,
        sealed=tuple(mark for name, mark in marks.items() if name not in opened),
        opened=tuple(mark for name, mark in marks.items() if name in opened),
    )


@pytest.fixture
def own(made: Made, tmp_path: Path) -> Made:
    """A copy to decide in; the rows stay where the run found them."""
    root = tmp_path / "own"
    shutil.copytree(made.root, root)
    return Made(root=root, run_id=made.run_id, sealed=made.sealed, opened=made.opened)


def retold(
    own: Made,
    *,
    config: Mapping[str, object],
    events: Mapping[str, Mapping[str, object]],
    instead: Mapping[str, Mapping[str, object]] | None = None,
    until: str = "",
    state: RunState = "done",
) -> Made:
    """Enter a second run that tells what the first told, but for some fields of its configuration
    and its events, some of which are others instead; up to an event of the kind `until`, where one
    is named.
    """
    with Workspace(own.root) as place:
        info = get_run(place.database, own.run_id)
        run_id = create_run(place.database, info.kind, {**info.config, **config})
        journal = RunJournal(place.database, run_id)
        for event in RunJournal(place.database, own.run_id).events():
            payload = (instead or {}).get(event.kind, event.payload)
            journal.append(event.kind, {**payload, **events.get(event.kind, {})})
            if event.kind == until:
                break
        set_state(place.database, run_id, state)
    return replace(own, run_id=run_id)


def visit(root: Path) -> TestClient:
    """Open the page as the browser of somebody who has followed the link."""
    app = review_app(root, token=TOKEN, port=PORT, environment=Environment())
    client = TestClient(app, base_url=OURS, follow_redirects=False)
    client.cookies.set(f"judgewright-{PORT}", TOKEN)
    return client


def settled(root: Path, environment: Environment | None = None) -> Job:
    """Wait until nothing in the queue waits or works, and return the job that was added last."""
    queue = JobQueue(root, (environment or Environment()).jobs_key)
    until = time.monotonic() + SECONDS
    while queue.waiting() and time.monotonic() < until:
        time.sleep(0.1)
    assert not queue.waiting()
    return queue.list()[-1]


def when_done(client: TestClient, address: str, **asked: Any) -> Response:  # Any: what httpx takes
    """Open a page; where a process of its own has to work something out first, come back until it
    has.
    """
    until = time.monotonic() + SECONDS
    while (answer := client.get(address, **asked)).status_code == 202 and time.monotonic() < until:
        time.sleep(0.1)
    return answer


@pytest.fixture
def page(made: Made) -> Iterator[TestClient]:
    """A visitor who reads."""
    with visit(made.root) as client:
        yield client


@pytest.fixture
def desk(own: Made) -> Iterator[TestClient]:
    """A visitor who decides."""
    with visit(own.root) as client:
        yield client


@dataclass(frozen=True)
class Workbench:
    """A workspace with an optimization, two benchmarks of its rows, and a queue of rows without
    labels.
    """

    root: Path
    run_id: str
    before: str
    """The benchmark of the shipped judge."""
    after: str
    """That of the edited one."""
    queue: str
    sealed: tuple[str, ...]
    opened: tuple[str, ...]


def judged(place: Workspace, prompt: JudgePrompt, path: Path) -> str:
    """Benchmark a judge on a file and return the run."""
    options, models = BenchOptions(by="channel"), ModelOptions(model="simulated")
    dataset = load_dataset(path, inputs=prompt.inputs, scale=prompt.scale)
    source = BenchSource(data=str(path))
    watched = {"watch": lambda *_: None, "source": source}
    run_bench(place, prompt, dataset, options, models, Environment(), **watched)
    return list_runs(place.database)[-1].run_id


@pytest.fixture(scope="session")
def bench_made(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Made once, beside the run of `made`; nobody writes here."""
    root = tmp_path_factory.mktemp("workbench") / "made"
    shutil.copytree(made.root, root)
    rows = [
        json.loads(line) for line in (root / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    unlabelled = root / "more.jsonl"
    lines = [
        {**{k: v for k, v in row.items() if k != "label"}, "id": f"new-{row['id']}"}
        for row in rows[:12]
    ]
    unlabelled.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    prompt = Registry().get("groundedness")
    edited = prompt.edited(criteria=f"{prompt.criteria}\n{GOOD} {ODD}", note=HOSTILE)
    with Workspace(root) as place:
        before, after = (judged(place, one, made.root / "rows.jsonl") for one in (prompt, edited))
        dataset = read_rows_to_label(place.registry, unlabelled, RowOptions().as_arguments())
        config = list_rows(
            dataset, path=unlabelled, reading=RowOptions().as_arguments(), again=False, seed=1
        )
        queue = create_queue(place, replace(config, question=HOSTILE))
        place.registry.keep(edited, current=False)
    return Workbench(
        root=root,
        run_id=made.run_id,
        before=before,
        after=after,
        queue=queue,
        sealed=made.sealed,
        opened=made.opened,
    )


@pytest.fixture
def bench_own(bench_made: Workbench, tmp_path: Path) -> Workbench:
    """A copy to write in."""
    root = tmp_path / "workbench"
    shutil.copytree(bench_made.root, root)
    return replace(bench_made, root=root)
