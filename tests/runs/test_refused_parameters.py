"""Commands with an endpoint that refuses a parameter: the rows are scored, and a later command
tries nothing.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from judgewright.judges.simulated import Server
from judgewright.runs.cli import main

VERDICT = json.dumps({"reasoning": "as it says", "score": 2, "confidence": 0.9})


class Refusing:
    """An endpoint that knows no JSON schema, and has its own word for that."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    async def answer(self, request: Request) -> JSONResponse:
        """Answer anything but a schema."""
        body = orjson.loads(await request.body())
        self.seen.append(body)
        if body.get("response_format", {}).get("type") == "json_schema":
            return JSONResponse(
                {"error": {"message": "This response_format type is unavailable now"}}, 400
            )
        choice = {"message": {"content": VERDICT}, "finish_reason": "stop"}
        return JSONResponse(
            {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 40}}
        )


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Refusing, str]]:
    """The endpoint, and the model's name there."""
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "models.yaml"))
    with serve() as found:
        yield found


@contextmanager
def serve() -> Iterator[tuple[Refusing, str]]:
    """Serve it."""
    endpoint = Refusing()
    app = Starlette(routes=[Route("/v1/chat/completions", endpoint.answer, methods=["POST"])])
    with Server(app) as server:
        yield endpoint, f"m@{server.base_url}"


def write_rows(path: Path, first: int, n: int) -> str:
    """Write labelled rows."""
    rows = [
        {
            "id": f"r{i}",
            "source": f"The hotel has {i} rooms.",
            "statement": f"It has {i} rooms.",
            "label": i % 2,
        }
        for i in range(first, first + n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def bench(
    rows: str, model: str, workspace: Path, output: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], str]:
    """Run the command; return its JSON and its notes."""
    main(["bench", "groundedness", rows, "--model", model, "--workspace", str(workspace), "--json"])
    said = output.readouterr()
    return json.loads(said.out), said.err


def test_a_second_command_of_the_workspace_begins_where_the_first_one_ended(
    served: tuple[Refusing, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same rows cost no call; other rows are sent as the endpoint takes them, with no trial."""
    endpoint, model = served
    rows = write_rows(tmp_path / "a.jsonl", 0, 24)
    body, _ = bench(rows, model, tmp_path / "w", capsys)
    assert body["unscored"] == {}
    assert body["dropped"] == ["json_schema"]
    tries = len(endpoint.seen)
    assert 24 < tries <= 24 + 4 + 1
    bench(rows, model, tmp_path / "w", capsys)
    assert len(endpoint.seen) == tries
    bench(write_rows(tmp_path / "b.jsonl", 100, 20), model, tmp_path / "w", capsys)
    assert len(endpoint.seen) == tries + 20
    assert {seen["response_format"]["type"] for seen in endpoint.seen[tries:]} == {"json_object"}


def test_models_test_climbs_the_same_ladder(
    served: tuple[Refusing, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what is sent in place of a schema."""
    _, model = served
    main(["models", "test", model, "--workspace", str(tmp_path / "w")])
    assert "refused by the endpoint: response_format json_schema (json_object is sent)" in (
        capsys.readouterr().out
    )
