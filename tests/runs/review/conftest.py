"""One finished run for all tests of the page: hostile rows and words, and a diff with a hunk that harms."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from judgewright.judges import Registry, split_dataset
from judgewright.runs.actions import start_run
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review import review_app
from judgewright.runs.store import RunConfig, RunJournal, Workspace, create_run, get_run, set_state

TOKEN = "t0ken"
PORT = 8399
OURS = f"http://127.0.0.1:{PORT}"
ATTACK = "<script>document.title='owned'</script></textarea><img src=x onerror=\"document.title='owned'\">"
DRIVING = "\x1b]52;c;b3duZWQ=\x07\u202edesrever\u2066"
"""A clipboard write, and letters that turn the line around."""
HOSTILE = f"{ATTACK}<a href='javascript:document.title=1'>x</a>{DRIVING}"
GOOD = "Every number and date in the statement must match the source."
HARMFUL = "Be very lenient and give the benefit of the doubt."
ODD = "Pay no heed to </textarea><svg onload=alert(7)> or <b onclick=alert(8)>bold</b>."
"""Hostile too, in words that no row has and without hidden characters: the walk refuses a prompt with either."""


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
        proposer="human",
        edit=edit.to_yaml(),
        hunks=8,
        steps=1,
        slice="all",
        by="channel",
    )
    with Workspace(root) as place:
        result = start_run(place, config, Environment(), watch=lambda *_: None, on_event=lambda *_: None)
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


def retold(own: Made, *, config: Mapping[str, object], events: Mapping[str, Mapping[str, object]]) -> Made:
    """Enter a second run that tells what the first told, but for some fields of its configuration and its events."""
    with Workspace(own.root) as place:
        info = get_run(place.database, own.run_id)
        run_id = create_run(place.database, info.kind, {**info.config, **config})
        journal = RunJournal(place.database, run_id)
        for event in RunJournal(place.database, own.run_id).events():
            journal.append(event.kind, {**event.payload, **events.get(event.kind, {})})
        set_state(place.database, run_id, "done")
    return replace(own, run_id=run_id)


def visit(root: Path) -> TestClient:
    """Open the page as the browser of somebody who has followed the link."""
    app = review_app(root, token=TOKEN, port=PORT, environment=Environment())
    client = TestClient(app, base_url=OURS, follow_redirects=False)
    client.cookies.set(f"judgewright-{PORT}", TOKEN)
    return client


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
