"""Decided cases chosen by an embeddings model, over HTTP: recorded, counted, asked once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from judgewright.judges import BINARY, Case, CaseBank, Cases, Registry
from judgewright.judges.plain_cases import ROW_HEADING
from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.runs.actions import read_run
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.store import Workspace, list_runs

from .run_command import run_code

TOPICS = ("harbour", "orchard", "railway")
"""What the made-up model knows of a text: which of these words it has, and how often."""


class Fake:
    """An endpoint with a chat model and an embeddings model."""

    def __init__(self, faults: int = 0) -> None:
        self.embedded: list[str] = []
        self.judged: list[str] = []
        self.faults = faults

    async def embeddings(self, request: Request) -> JSONResponse:
        """Answer as OpenAI does; the first so many requests are turned away."""
        body = orjson.loads(await request.body())
        if self.faults:
            self.faults -= 1
            return JSONResponse({"error": {"message": "busy"}}, status_code=503)
        self.embedded += body["input"]
        data = [
            {"index": i, "embedding": [float(text.lower().count(word)) for word in TOPICS]}
            for i, text in enumerate(body["input"])
        ]
        return JSONResponse({"data": data[::-1], "model": "vec", "usage": {"prompt_tokens": 7}})

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve it; yield the base URL."""
        app = make_app(Simulated())
        app.router.routes.insert(0, Route("/v1/embeddings", self.embeddings, methods=["POST"]))

        async def record(scope: Any, receive: Any, send: Any) -> None:
            async def received() -> Any:
                message = await receive()
                if scope["path"].endswith("completions"):
                    self.judged.append(message.get("body", b"").decode())
                return message

            await app(scope, received if scope["type"] == "http" else receive, send)

        with Server(record) as server:  # type: ignore[arg-type]  # an ASGI app as well
            yield server.base_url


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows of three topics, and a judge whose cases are of the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "models.yaml"))
    rows = [
        {
            "id": f"r{i}",
            "source": f"About the {TOPICS[i % 3]}, number {i}.",
            "statement": "So.",
            "label": i % 2,
        }
        for i in range(24)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cases = tuple(
        Case(inputs={"source": f"{topic} {i}", "statement": f"One {topic}."}, label=i % 2)
        for i, topic in enumerate(TOPICS * 4)
    )
    how = Cases(bank=CaseBank(cases=cases, labels=BINARY), by="vec", count=2, balanced=False)
    replace(Registry().get("groundedness"), cases=how).write(Path("judge.yaml"))
    return tmp_path


def test_cases_are_chosen_by_an_embeddings_model_which_is_asked_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row is shown cases of its topic; done again nothing is asked, and the pages of the run
    read the same cases from the record.
    """
    fake = Fake(faults=2)
    with fake.served() as url:
        Path("models.yaml").write_text(f"vec:\n  base_url: {url}\n  model: vec\n")
        command = ("bench", "judge.yaml", "rows.jsonl", "--model", f"simulated@{url}")
        assert run_code(*command, "--json") == 0
        assert sorted(fake.embedded) == sorted(set(fake.embedded)), "each text once"
        assert len(fake.embedded) == 24 + 12
        body = json.loads(capsys.readouterr().out)
        for sent in fake.judged:
            cases, _, row = sent.partition(ROW_HEADING)
            (topic,) = [word for word in TOPICS if word in row]
            assert cases.count(f"One {topic}.") == 2
        assert body["calls"] == 24
        assert run_code(*command, "--repeat", "2", "--json") == 0
        assert len(fake.embedded) == 24 + 12
    with Workspace(folder) as place:
        (run, *_) = list_runs(place.database)
        assert len(shown_rows(place, read_run(place, run.run_id)).judged.answers) == 24


def test_what_is_no_embedding_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model without a key, one at an address that only the judge names, an endpoint without
    any.
    """
    command = ("bench", "judge.yaml", "rows.jsonl", "--model", "simulated")
    assert run_code(*command) == 3
    assert "vec at https://api.openai.com/v1 needs a key" in capsys.readouterr().err
    text = Path("judge.yaml").read_text()
    Path("strange.yaml").write_text(text.replace("by: vec", "by: vec@https://elsewhere.invalid/v1"))
    assert run_code("bench", "strange.yaml", *command[2:]) == 2
    capsys.readouterr()
    with Server(make_app(Simulated())) as server:
        Path("models.yaml").write_text(f"vec:\n  base_url: {server.base_url}\n  model: vec\n")
        capsys.readouterr()
        assert run_code(*command) == 3
        assert "404" in capsys.readouterr().err


def test_a_plan_counts_the_tokens_of_cases_without_asking(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embeddings model is at hand only in a run."""
    command = ("data", "check", "rows.jsonl", "--model", "simulated", "--json", "--judge")
    totals: list[int] = []
    for judge in ("groundedness", "judge.yaml"):
        capsys.readouterr()
        assert run_code(*command, judge) == 0
        totals.append(json.loads(capsys.readouterr().out)["tokens"]["total"])
    assert totals[1] > totals[0] + 24 * 60
