"""`judgewright doctor`: the long check of a workspace."""

import json
import sqlite3

import pytest

from judgewright.judges.models import Client, Completion, Message, Request
from judgewright.judges.simulated import Simulated
from judgewright.runs.store import CallStore, Workspace, create_run

from .run_command import run_code as run


@pytest.fixture
def folder(tmp_path):
    """A workspace with a run and 700 replies."""
    with Workspace(tmp_path) as workspace:
        run_id = create_run(workspace.database, "bench", {})
        with Client(Simulated(), record=CallStore(workspace.database, run_id)) as client:
            outcomes = client.ask(
                [Request(messages=(Message("user", f"row {i}"),)) for i in range(700)]
            )
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    return tmp_path


def test_a_sound_workspace_is_said_to_be_sound(folder, capsys):
    """With how much of what was checked."""
    assert run("doctor", "--workspace", folder, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    checked = {check["name"]: check["checked"] for check in report["checks"]}
    assert report["ok"]
    assert checked | {"file": 0} == {
        "file": 0,
        "references": 700,
        "replies": 700,
        "runs": 1,
        "looks": 0,
    }
    assert run("doctor", "--workspace", folder) == 0
    assert "every reply, with its hash" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE call SET response_json = X'7B7D' WHERE seq = 650", "replies"),
        ("UPDATE attempt SET key = zeroblob(32) WHERE seq = 3", "references"),
    ],
)
def test_what_was_changed_is_found(folder, capsys, statement, name):
    """One reply, or one attempt without its call: exit 1, and the check that found it."""
    with sqlite3.connect(folder / ".judgewright" / "judgewright.db") as connection:
        connection.execute(statement)
    connection.close()
    assert run("doctor", "--workspace", folder, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in report["checks"] if check["damaged"]] == [name]


def test_a_folder_without_a_workspace_is_an_input_error(tmp_path):
    """Nothing is made there."""
    assert run("doctor", "--workspace", tmp_path) == 2
    assert not list(tmp_path.iterdir())
