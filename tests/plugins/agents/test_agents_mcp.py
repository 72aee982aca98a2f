"""`judgewright agents mcp`: a real client lists and calls every tool; what an agent may not do is
refused, no key and no sealed row is in an answer, and the budget is kept.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import anyio
from mcp import ClientSession

from judgewright.judges.simulated import Simulated
from judgewright.judges.simulated.serve import Faults, Server, make_app
from judgewright.runs.cli import main
from judgewright.runs.demo.rows import write_demo_rows
from judgewright.runs.store import Workspace
from judgewright.runs.store.calls import read_spending

from .client import body_of, call_all, text_of, with_server

ROWS: dict[str, Any] = {"judge": "groundedness", "data": "rows.jsonl"}
GOAL: dict[str, Any] = {**ROWS, "objective": "raise precision; recall may fall by 10 points"}
KEY = "sk-canary-0123456789abcdef"
EVERY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("judges", {}),
    ("models", {}),
    ("bench", ROWS),
    ("slices", {"run": "latest", "metric": "precision"}),
    ("plan", GOAL),
    ("optimize", {**GOAL, "steps": 1}),
    ("gate_status", {}),
    ("diff", {}),
    ("runs", {"limit": 5}),
    ("export", {"judge": "groundedness", "to": "jinja"}),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with made-up rows, each with a word of its own in its statement."""
    write_demo_rows(tmp_path / "plain.jsonl", documents=120)
    lines = (tmp_path / "plain.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for number, row in enumerate(rows):
        row["statement"] += f" (canary{number:05d}x)"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def sealed_canaries(folder: Path) -> set[str]:
    """The words of the rows that a run has sealed."""
    main(["bench", "groundedness", "rows.jsonl", "--model", "simulated", "--out", "open.jsonl"])
    shown = (folder / "open.jsonl").read_text(encoding="utf-8").splitlines()
    open_ids = {json.loads(line)["id"] for line in shown}
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    sealed = [row for row in map(json.loads, lines) if row["id"] not in open_ids]
    return {row["statement"].rpartition("(")[2].strip(")") for row in sealed}


def test_a_client_lists_and_calls_every_tool(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each answers; none lets a client name an address or a key; no answer has a sealed row or the
    key, whatever column is said to be the label.
    """
    monkeypatch.chdir(folder)
    tricks = (
        ("bench", {**ROWS, "label": "statement"}),
        ("bench", {**ROWS, "group": "statement"}),
        ("bench", {**ROWS, "columns": {"source": "statement"}}),
        ("plan", {**GOAL, "label": "statement"}),
        ("bench", {"judge": "rows.jsonl", "data": "rows.jsonl"}),
        ("bench", {"judge": "./rows.jsonl", "data": "rows.jsonl"}),
        ("slices", {"metric": "recall"}),
        ("gate_status", {}),
    )

    async def work(session: ClientSession) -> tuple[Any, list[Any], list[float]]:
        tools = (await session.list_tools()).tools
        steps: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            steps.append(done)

        answers = [
            await session.call_tool(name, words, progress_callback=progress)
            for name, words in (*EVERY, *tricks)
        ]
        return tools, answers, steps

    tools, answers, steps = with_server(folder, work, variables={"OPENAI_API_KEY": KEY})
    assert {tool.name for tool in tools} == {name for name, _ in EVERY}
    taken = {name for tool in tools for name in tool.input_schema["properties"]}
    assert not any(word in name for name in taken for word in ("url", "key", "sealed", "all"))
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    changing = {tool.name for tool in tools if not tool.annotations.read_only_hint}
    assert changing == {"bench", "optimize", "export"}

    answered = dict(zip((name for name, _ in EVERY), map(body_of, answers), strict=False))
    assert answered["bench"]["simulated"] is True
    assert answered["bench"]["metrics"]["precision"]["n"] > 0
    assert answered["plan"]["objective"]["target"] == "precision"
    status = answered["gate_status"]
    assert status["decision"]["outcome"] == answered["optimize"]["decision"]["outcome"]
    assert [run["kind"] for run in answered["runs"]["runs"]] == ["optimize", "bench"]
    assert "config" not in answered["runs"]["runs"][0]
    assert steps
    assert steps != sorted(steps, reverse=True)

    texts = "\n".join(map(text_of, answers))
    sealed = sealed_canaries(folder)
    assert len(sealed) > 50
    assert not [word for word in sealed if word in texts]
    assert KEY not in texts
    assert "\x1b" not in texts


def test_hostile_arguments_are_refused(folder: Path) -> None:
    """Paths that lead out, options in names, wrong types, huge values, addresses: each is refused
    in plain words, and none is carried out.
    """
    outside = folder.parent / f"{folder.name}-outside"
    outside.mkdir()
    (outside / "rows.jsonl").write_bytes((folder / "rows.jsonl").read_bytes())
    (folder / "link.jsonl").symlink_to(outside / "rows.jsonl")
    (folder / "linked").symlink_to(outside)
    (folder / "loop").symlink_to("loop")
    (folder / "judge.yaml").symlink_to(folder / "rows.jsonl")
    hostile: tuple[tuple[str, dict[str, Any]], ...] = (
        *(
            ("bench", {**ROWS, "data": path})
            for path in (
                "../rows.jsonl",
                str(outside / "rows.jsonl"),
                "link.jsonl",
                "linked/rows.jsonl",
                "loop",
                "/etc/passwd",
                ".judgewright/judgewright.db",
                "file:///etc/passwd",
                "--all",
                "rows.jsonl\n--all",
                "rows.jsonl\0",
                "\x1b[31mrows.jsonl",
                "",
                "x" * 5000,
                "missing.jsonl",
            )
        ),
        *(
            ("bench", {**ROWS, "judge": judge})
            for judge in (
                "--help",
                "groundedness --all",
                "judge.yaml",
                "../judge.yaml",
                "git:main:judge.yaml",
                "/etc/x.yaml",
                "a/b",
            )
        ),
        *(
            ("bench", {**ROWS, "model": model})
            for model in (
                "m@http://127.0.0.1:9/v1",
                "simulated@http://127.0.0.1:9/v1",
                "litellm/gemini/x",
                "gpt-x",
                "--base-url",
            )
        ),
        ("bench", {**ROWS, "limit": -1}),
        ("bench", {**ROWS, "limit": 10**30}),
        ("bench", {**ROWS, "limit": "5"}),
        ("bench", {**ROWS, "limit": True}),
        ("bench", {**ROWS, "columns": {"a=b": "c"}}),
        ("bench", {**ROWS, "columns": {"a": "b\n--all"}}),
        ("bench", {**ROWS, "columns": [1]}),
        ("bench", {**ROWS, "base_url": "http://127.0.0.1:9"}),
        ("bench", {**ROWS, "sealed": True}),
        ("bench", {**ROWS, "out": "verdicts.jsonl"}),
        ("bench", {"judge": 5, "data": None}),
        ("bench", {}),
        ("optimize", {**GOAL, "guard": {"recall": 9}}),
        ("optimize", {**GOAL, "guard": {"recall": "inf"}}),
        ("optimize", {**GOAL, "steps": 10**9}),
        ("optimize", {**GOAL, "objective": "raise\nprecision"}),
        ("optimize", {**GOAL, "target": "--loss=x"}),
        ("slices", {"run": "../../etc", "metric": "--all"}),
        ("slices", {"run": "rows.jsonl"}),
        ("gate_status", {"run": "--json"}),
        ("runs", {"limit": 0}),
        ("export", {"judge": "groundedness", "to": "jinja", "out": "made.json"}),
        ("export", {"judge": "groundedness", "to": "jinja", "push": "http://127.0.0.1:9"}),
        ("shell", {"command": "id"}),
    )
    before = {path.name for path in folder.iterdir()}
    answers = call_all(folder, *hostile)
    passed = [call for call, answer in zip(hostile, answers, strict=True) if not answer.is_error]
    assert not passed
    texts = [text_of(answer) for answer in answers]
    assert all(texts)
    assert not [text for text in texts if "Traceback" in text or "\x1b" in text or "\0" in text]
    assert "root:" not in "".join(texts)
    assert max(map(len, texts)) < 2000
    assert {path.name for path in folder.iterdir()} <= {*before, ".judgewright"}


def test_an_export_is_written_only_where_a_person_allows_it(folder: Path) -> None:
    """With --write into the folder, never over what is there, never through a link."""
    outside = folder.parent / f"{folder.name}-outside"
    outside.mkdir()
    (folder / "linked").symlink_to(outside)
    names = ("made.json", "made.json", "linked/made.json", "../made.json", ".judgewright/made.json")
    calls = [("export", {"judge": "groundedness", "to": "jinja", "out": name}) for name in names]
    answers = call_all(folder, *calls, options=("--write",))
    assert [answer.is_error for answer in answers] == [False, True, True, True, True]
    assert (folder / "made.json").exists()
    assert not list(outside.iterdir())


def models_of(folder: Path, base_url: str) -> dict[str, str]:
    """The variables of a user whose own file names a model with a key and a price."""
    price = "price: {input: 100.0, output: 100.0}"
    entry = f"paid: {{base_url: '{base_url}', key_variable: PAID_KEY, {price}}}\n"
    path = folder / "models.yaml"
    path.write_text(entry, encoding="utf-8")
    path.chmod(0o600)
    return {"JUDGEWRIGHT_MODELS": str(path), "PAID_KEY": KEY}


def paid(folder: Path) -> float:
    """What the store says was spent, and may have been."""
    with Workspace(folder) as workspace:
        spending = read_spending(workspace.database, "1 = 1", ())
    return spending.settled_cost + spending.in_doubt_cost


def test_the_budget_is_of_all_calls_together(folder: Path) -> None:
    """The second call has what the first left, the third nothing; a free model is asked all the
    same, and what was answered is answered again.
    """
    with Server(make_app(Simulated())) as server:
        variables = models_of(folder, server.base_url)
        refused, free = call_all(
            folder,
            ("bench", {**ROWS, "model": "paid", "limit": 5}),
            ("bench", {**ROWS, "limit": 5}),
            variables=variables,
        )
        assert refused.is_error
        assert "--budget" in text_of(refused)
        assert not free.is_error
        answers = call_all(
            folder,
            ("bench", {**ROWS, "model": "paid", "limit": 5}),
            ("bench", {**ROWS, "model": "paid", "limit": 400}),
            ("bench", {**ROWS, "model": "paid", "limit": 410}),
            ("bench", {**ROWS, "model": "paid", "limit": 5}),
            ("optimize", {**GOAL, "model": "paid", "steps": 1, "limit": 300}),
            options=("--budget", "2.00"),
            variables=variables,
        )
    first = body_of(answers[0])["budget_of_this_server"]
    assert first["dollars"] == 2.0
    assert 0 < first["spent"] < 1
    assert answers[1].is_error
    assert "budget" in text_of(answers[1])
    assert answers[1].structured_content["n"] < 400
    assert answers[2].is_error
    assert body_of(answers[3])["n"] == 5
    assert answers[4].is_error
    assert 0 < paid(folder) <= 2.0
    assert KEY not in "".join(map(text_of, answers))


def test_calls_at_once_do_not_share_a_budget_twice(folder: Path) -> None:
    """Three paid calls at the same time spend no more than one may."""

    async def work(session: ClientSession) -> None:
        async def ask(limit: int) -> None:
            await session.call_tool("bench", {**ROWS, "model": "paid", "limit": limit})

        async with anyio.create_task_group() as group:
            for limit in (300, 310, 320):
                group.start_soon(ask, limit)

    with Server(make_app(Simulated())) as server:
        variables = models_of(folder, server.base_url)
        with_server(folder, work, "--budget", "1.00", variables=variables)
    assert 0.5 < paid(folder) <= 1.0


def test_a_cancelled_and_a_killed_call_count_too(folder: Path) -> None:
    """What was sent and not answered is taken from the budget, and the server goes on."""
    with Server(make_app(Simulated(), Faults.parse("latency=0.2"))) as server:
        variables = models_of(folder, server.base_url)
        slow = {**ROWS, "model": "paid"}

        async def work(session: ClientSession) -> list[dict[str, Any]]:
            begun = anyio.Event()

            async def progress(done: float, total: float | None, message: str | None) -> None:
                if done >= 1:
                    begun.set()

            for end in ("cancel", "kill"):
                begun = anyio.Event()
                async with anyio.create_task_group() as group:

                    async def ask() -> None:
                        await session.call_tool("bench", slow, progress_callback=progress)

                    group.start_soon(ask)
                    await begun.wait()
                    if end == "cancel":
                        group.cancel_scope.cancel()
                    else:
                        with Workspace(folder) as workspace:
                            sql = "SELECT pid FROM run WHERE kind = 'bench' ORDER BY seq DESC"
                            ((pid,), *_) = workspace.database.read(sql)
                        os.kill(pid, signal.SIGKILL)
            left = []
            for limit in (1, 2):
                answer = await session.call_tool("bench", {**ROWS, "limit": limit})
                left.append(body_of(answer)["budget_of_this_server"])
            return left

        left = with_server(folder, work, "--budget", "1000.00", variables=variables)
    assert left[0] == left[1]
    assert left[0]["spent"] == pytest.approx(paid(folder), abs=1e-5)
    assert left[0]["spent"] > 0


def test_optimize_goes_on_with_what_is_left(folder: Path) -> None:
    """A run that the budget stopped goes on under a larger one, and pays only the rest."""
    with Server(make_app(Simulated())) as server:
        variables = models_of(folder, server.base_url)
        call = ("optimize", {**GOAL, "model": "paid", "steps": 1, "limit": 300})
        for budget in ("1.00", "500.00"):
            (answer,) = call_all(folder, call, options=("--budget", budget), variables=variables)
            last = paid(folder)
            assert last <= 1.0 if budget == "1.00" else last > 1.0
            assert answer.is_error == (budget == "1.00")
    with Workspace(folder) as workspace:
        runs = workspace.database.read("SELECT config_json FROM run WHERE kind = 'optimize'")
    assert len(runs) == 1
    assert float(json.loads(runs[0][0])["budget"]) == pytest.approx(501.0, abs=0.5)


def test_the_skill_is_a_file_with_front_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a name and a description, and says the rules; without a folder it is printed."""
    import yaml

    main(["agents", "skill", "--out", str(tmp_path / "skills")])
    text = (tmp_path / "skills" / "judgewright" / "SKILL.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    assert set(yaml.safe_load(front)) == {"name", "description"}
    assert all(rule in body for rule in ("Gate once", "Never read sealed rows", "--budget"))
    capsys.readouterr()
    main(["agents", "skill"])
    assert capsys.readouterr().out == text
