"""A workspace on a PostgreSQL: the same commands, the same figures, and many who write at once."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from judgewright.judges import (
    BINARY,
    Case,
    CaseBank,
    Cases,
    InputError,
    Registry,
    WorkspaceError,
)
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.plugins.postgres.address import parse_postgres
from judgewright.runs.actions import RunResult, read_run, start_run
from judgewright.runs.config import Environment
from judgewright.runs.config.place import Place, read_place
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review import review_app
from judgewright.runs.store import (
    HoldoutLedger,
    JobQueue,
    RunConfig,
    Workspace,
    list_runs,
)
from judgewright.runs.store.banks import banks_of

from ...runs.run_command import run
from .server import PostgresServer

OBJECTIVE = "do not call unsupported statements grounded"
SECRET = "pa55-CANARY"
TOKEN, PORT = "secret-of-the-link", 8377
SECONDS = 120.0


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About a hundred and fifty made-up labelled rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=40)
    return path


@pytest.fixture
def team(postgres: PostgresServer, tmp_path: Path) -> Place:
    """A new workspace on a server, whose files are in a folder of this test."""
    return Place(tmp_path, postgres.address(postgres.new()))


def wanted(rows: Path) -> RunConfig:
    """A short run."""
    prompt = Registry().get("groundedness").to_yaml()
    return RunConfig(
        prompt=prompt,
        model="simulated",
        data=str(rows),
        objective=OBJECTIVE,
        target="precision",
        steps=1,
        folds=1,  # a budget that does not pay for two takes a split, and the run keeps to it
    )


def walk(place: Path | Place, rows: Path) -> RunResult:
    """Optimize in one step."""
    with Workspace(place) as workspace:
        return start_run(workspace, wanted(rows), Environment())


def lasting(result: RunResult) -> list[tuple[str, Mapping[str, Any]]]:
    """Every event of a run, without times."""
    return [(event.kind, event.payload) for event in result.run.events]


def test_a_run_is_the_same_as_in_a_folder(team: Place, rows: Path, tmp_path: Path) -> None:
    """Every event, on a server and in a file."""
    assert lasting(walk(team, rows)) == lasting(walk(tmp_path / "folder", rows))


def test_a_run_of_a_judge_with_cases_is_read_on_another_machine(
    team: Place, rows: Path, tmp_path: Path
) -> None:
    """Its bank comes from the server, and is a file of this machine then."""
    plain = Registry().get("groundedness")
    bank = CaseBank(
        cases=tuple(
            Case(inputs={"source": f"Elsewhere {i}.", "statement": f"So {i}."}, label=i % 2)
            for i in range(30)
        ),
        labels=BINARY,
    )
    judge = replace(plain, cases=Cases(bank=bank, count=2))
    with Workspace(team) as place:
        banks = judge.write_bank(banks_of(place))
        config = replace(wanted(rows), prompt=judge.to_yaml(), banks=banks, steps=0)
        run_id = start_run(place, config, Environment()).run_id
    with Workspace(Place(tmp_path / "elsewhere", team.address)) as place:
        assert read_run(place, run_id).before == judge
        assert [path.name for path in banks_of(place).iterdir()] == [f"{bank.version}.cases.jsonl"]


def test_every_command_reads_and_writes_it(
    team: Place, rows: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named by --workspace or by the variable; the password of the address is printed and kept
    nowhere.
    """
    monkeypatch.chdir(team.root)
    address = str(team.address)
    with_password = address.replace("judge@", f"judge:{SECRET}@")
    said: list[str] = []

    def say(*arguments: str, code: int = 0) -> str:
        left, out, errors = run(capsys, *arguments)
        assert left == code, errors
        said.extend((out, errors))
        return out

    assert "no runs here yet" in say("runs", "list", "--workspace", with_password)
    say("bench", "groundedness", str(rows), "--model", "simulated", "--workspace", with_password)
    monkeypatch.setenv("JUDGEWRIGHT_WORKSPACE", with_password)
    (benched,) = json.loads(say("runs", "list", "--json"))["runs"]
    assert benched["run_id"] in say("runs", "list")
    say("doctor")
    say("judges", "list")
    say("calibrate", "groundedness", str(rows), "--model", "simulated")
    say(
        "optimize",
        "--plan",
        "groundedness",
        str(rows),
        "--model",
        "simulated",
        "--objective",
        OBJECTIVE,
        "--target",
        "precision",
    )
    assert not (team.root / ".judgewright" / "judgewright.db").exists()
    assert not any(SECRET in text for text in said)
    assert not any(
        SECRET.encode() in file.read_bytes() for file in team.root.rglob("*") if file.is_file()
    )


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://me:pa55-CANARY@db.example.org/x?sslmode=disable", "in the clear"),
        ("postgresql://me:pa55-CANARY@db.example.org/x?sslmode=prefer", "in the clear"),
        ("postgresql://me:pa55-CANARY@db.example.org:1/x?nonsense=1", "no address"),
        ("postgresql://me:pa55/CANARY@db.example.org/x", "no address"),
        ("postgresql://me@localhost/x?application_name=y", "application_name"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(address: str, message: str) -> None:
    """Nothing is sent, and the message does not tell the password."""
    with pytest.raises(InputError, match=message) as caught:
        parse_postgres(address)
    assert "CANARY" not in f"{caught.value} {caught.value.hint} {caught.value!r}"


@pytest.mark.parametrize(
    ("host", "mode"),
    [
        ("db.example.org", "require"),
        ("10.0.0.1,127.0.0.1", "require"),
        ("127.0.0.1", None),
        ("[::1]", None),
    ],
)
def test_off_this_machine_the_connection_is_encrypted(host: str, mode: str | None) -> None:
    """Without a word about it in the address; more may be asked for, and the password is out of
    sight.
    """
    address = parse_postgres(f"postgresql://me:{SECRET}@{host}/x")
    assert address.parameters.get("sslmode") == mode
    assert address.password == SECRET
    assert SECRET not in f"{address} {address!r}"
    assert (
        parse_postgres("postgresql://db.example.org/x?sslmode=verify-full").parameters["sslmode"]
        == "verify-full"
    )


def test_a_folder_is_still_a_folder(tmp_path: Path) -> None:
    """Whatever does not begin as an address is a path."""
    assert read_place("postgres") == Path("postgres")
    assert read_place(tmp_path) == tmp_path


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    """At once, with where it was looked for."""
    place = Place(tmp_path, parse_postgres(f"postgresql://judge@/x?host={tmp_path}"))
    with Workspace(place) as workspace, pytest.raises(WorkspaceError, match="cannot be reached"):
        workspace.database.read("SELECT 1")


def test_a_database_of_another_program_is_left_alone(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Its tables are not ours, and a schema of our own is taken instead."""
    name = postgres.new()
    postgres.say("CREATE TABLE theirs (x INT); CREATE SCHEMA ours", database=name)
    with Workspace(Place(tmp_path, postgres.address(name))) as workspace:
        with pytest.raises(WorkspaceError, match="another program") as caught:
            list_runs(workspace.database)
        assert "search_path" in str(caught.value.hint)
    own = parse_postgres(f"{postgres.url(name)}&options=-csearch_path%3Dours")
    with Workspace(Place(tmp_path, own)) as workspace:
        assert list_runs(workspace.database) == ()


def started(place: Path | Place, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command in a folder, in a process of its own."""
    command = [sys.executable, "-m", "judgewright", *arguments, "--workspace", str(place), "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
def test_the_page_and_the_terminal_read_while_two_processes_write(
    team: Place, rows: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two benchmarks at work at once are seen running, and then done; neither waits for the
    other.
    """
    monkeypatch.chdir(team.root)
    strict = Registry().get("groundedness").edited(criteria="Is the answer supported? Be strict.")
    (team.root / "strict.yaml").write_text(strict.to_yaml())
    with Server(make_app(Simulated(), Faults.parse("latency=0.5"))) as server:
        model = ("--model", f"simulated@{server.base_url}", "--concurrency", "8")
        writers = [
            started(team, team.root, "bench", judge, str(rows), *model)
            for judge in ("groundedness", "strict.yaml")
        ]
        try:
            app = review_app(team, token=TOKEN, port=PORT, environment=Environment())
            with TestClient(
                app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False
            ) as page:
                page.cookies.set(f"judgewright-{PORT}", TOKEN)
                until, both, said = time.monotonic() + SECONDS, False, ""
                while not both and time.monotonic() < until:
                    _, said, _ = run(capsys, "runs", "list", "--workspace", str(team), "--json")
                    both = [line["state"] for line in json.loads(said)["runs"]] == ["running"] * 2
                    assert page.get("/").status_code == 200
                assert both
                assert all(
                    line["run_id"] in page.get("/").text for line in json.loads(said)["runs"]
                )
                ends = [writer.communicate(timeout=SECONDS) for writer in writers]
                assert [writer.returncode for writer in writers] == [0, 0], ends
                _, said, _ = run(capsys, "runs", "list", "--workspace", str(team), "--json")
                assert [line["state"] for line in json.loads(said)["runs"]] == ["done"] * 2
                assert page.get("/").status_code == 200
        finally:
            for writer in writers:
                writer.kill()
                writer.communicate()


def test_jobs_stay_in_the_folder_of_who_added_them(
    team: Place,
    rows: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another folder of the same server has none of them; here a job is worked."""
    monkeypatch.chdir(team.root)
    key = tmp_path / "keys" / "jobs.key"
    queue, elsewhere = JobQueue(team, key), JobQueue(Place(tmp_path / "other", team.address), key)
    assert queue.list() == ()
    command = (
        "bench",
        "groundedness",
        str(rows),
        "--model",
        "simulated",
        "--workspace",
        str(team),
        "--json",
    )
    job = queue.add("measure", command)
    assert elsewhere.list() == ()
    taken = queue.take()
    assert taken is not None
    assert taken.pid == os.getpid()
    assert queue.take() is None
    queue.end(job.job_id, state="done", exit_code=0, run_id=None, message="measured")
    _, said, _ = run(capsys, "runs", "list", "--workspace", str(team))
    assert job.job_id in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "server"])
def test_two_gates_at_once_spend_one_look_each(
    kind: str,
    tmp_path: Path,
    rows: Path,
    request: pytest.FixtureRequest,
    measured: Callable[[str], None],
) -> None:
    """Of different questions both looks stand in the ledger; the same question is answered once."""
    place: Path | Place = tmp_path if kind == "folder" else request.getfixturevalue("team")
    edited = Registry().get("groundedness")
    for name in ("one", "two"):
        prompt = edited.edited(criteria=f"{edited.criteria}\nBe strict about numbers, {name}.")
        (tmp_path / f"{name}.yaml").write_text(prompt.to_yaml())
    asked = ("one.yaml", "two.yaml", "two.yaml")
    tail = (str(rows), "--model", "simulated", "--objective", OBJECTIVE, "--target", "precision")
    gates = [started(place, tmp_path, "gate", "groundedness", after, *tail) for after in asked]
    ended = [gate.communicate(timeout=SECONDS) for gate in gates]
    assert {gate.returncode for gate in gates} <= {0, 1}, ended
    with Workspace(place) as workspace:
        ledger = HoldoutLedger(workspace.database)
        looks = [record for record in ledger.history().records if record.look.purpose == "gate"]
        runs = [found for found in list_runs(workspace.database) if found.kind == "gate"]
    numbers = sorted(record.look.number for record in looks)
    said = " and ".join(map(str, numbers))
    measured(
        f"{len(gates)} gates with a {kind}, {len(set(asked))} questions: {len(looks)} looks,"
        f" numbered {said}"
    )
    assert numbers == [1, 2]
    assert all(record.outcome for record in looks)
    assert len(runs) == 2
