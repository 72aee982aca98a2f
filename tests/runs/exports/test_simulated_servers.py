"""The verdicts of exports in the real tools over the simulated servers, beside our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from judgewright.judges import (
    BINARY,
    Client,
    Dataset,
    DecisionRule,
    Endpoint,
    JudgePrompt,
    Registry,
    Row,
    Simulated,
    Verdict,
    judge,
)
from judgewright.judges.cascade import Cascade
from judgewright.judges.models import ModelSettings
from judgewright.judges.models.decision_endpoint import DecisionEndpoint
from judgewright.judges.models.question import DecisionApi
from judgewright.judges.simulated import DecisionService, Server, make_app
from judgewright.runs.exports import TARGETS, ExportContext, run_tool_script, write_export

FAST, SLOW = "fast", "slow"
ROWS = 40
RULE = DecisionRule(threshold=0.3)
TOOLS = [name for name, target in TARGETS.items() if target.question and name != "python"]


@pytest.fixture
def serving() -> Iterator[Callable[[DecisionApi], Server]]:
    """Serve a fast decision model and a slow chat model at one address for each case."""
    opened: list[Server] = []

    def serve(api: DecisionApi) -> Server:
        decides = DecisionService(api, model=FAST).app()
        routes = [*decides.routes, *make_app(Simulated()).routes]
        server = Server(Starlette(routes=[Mount("/case/{number}", routes=routes)]))
        opened.append(server.__enter__())
        return server

    yield serve
    for server in opened:
        server.__exit__(None, None, None)


def rows_of(prompt: JudgePrompt, n: int) -> Dataset:
    """Rows that support their statement by half, wholly or not at all."""
    rows = []
    for i in range(n):
        facts = [
            f"The hotel has {40 + i} rooms.",
            f"Breakfast is at {6 + i % 5}.",
            "Dogs may stay.",
        ]
        claims = [f"It has {40 + i * (i % 3)} rooms.", f"Breakfast is at {6 + i % 4}."]
        texts = [" ".join(facts[: 1 + i % 3]), " ".join(claims[: 1 + i % 2])]
        inputs = dict(zip(prompt.inputs, texts, strict=False))
        rows.append(Row(id=f"r{i}", inputs=dict.fromkeys(prompt.inputs, "-") | inputs, label=1.0))
    return Dataset.of(tuple(rows), labels=BINARY)


def our_verdicts(prompt: JudgePrompt, rows: Dataset, api: DecisionApi, url: str) -> list[Verdict]:
    """Judge the rows with our own clients."""
    fast = DecisionEndpoint(api=api, name=FAST, base_url=url, api_key=None)
    slow = Endpoint(name=SLOW, base_url=url, api_key=None)
    settings = ModelSettings(api=api)
    with (
        Client(slow) as second,
        Client(fast, settings=settings, opener=lambda _: second) as client,
    ):
        judged = judge(prompt, rows, client, rule=RULE)
    verdicts = [answer for answer in judged.answers if isinstance(answer, Verdict)]
    assert len(verdicts) == len(rows)
    return verdicts


def check_rows(
    context: ExportContext, target: str, interpreter: str, rows: Dataset, server: Server, at: Path
) -> list[dict[str, Any]]:  # Any: JSON
    """Have the tool judge the rows, as its check has it."""
    prompt, scale = context.prompt, context.scale
    export = write_export(context, TARGETS[target], at / "export")
    kind = {"labels": list(scale.labels), "kind": scale.kind, "low": scale.low, "high": scale.high}
    described = {"name": prompt.name, "inputs": list(prompt.inputs)}
    cases = {
        "target": target,
        "judge": {**described, "scale": {**kind, "threshold": RULE.threshold}},
        "rows": [dict(row.inputs) for row in rows.rows],
        "replies": 0,
        "many": [0, 1, 2],
        "url": server.base_url.removesuffix("/v1"),
        "model": FAST,
    }
    (at / "cases.json").write_text(json.dumps(cases))
    script = Path(str(files("judgewright.runs.exports") / "checks" / str(TARGETS[target].check)))
    arguments = [str(export.folder.resolve()), str(at / "cases.json")]
    return run_tool_script(interpreter, script, arguments, scratch=at, timeout=600)["outcomes"]


def require_equal(target: str, server: Server, api: DecisionApi, program: str, at: Path) -> None:
    """Require that a tool scores and decides every row of a cascade as we do, by either model."""
    shipped = Registry().get("groundedness")
    prompt = replace(shipped, cascade=Cascade(model=SLOW, low=0.2, high=0.8))
    rows = rows_of(prompt, ROWS)
    ours = our_verdicts(prompt, rows, api, server.base_url.replace("/v1", "/case/0/v1"))
    context = ExportContext(prompt=prompt, rule=RULE, provenance={}, api=api)
    outcomes = check_rows(context, target, program, rows, server, at)
    assert [one["score"] for one in outcomes] == pytest.approx([one.score for one in ours])
    assert [one["positive"] for one in outcomes] == [one.positive for one in ours]
    for models in ([one for one in ours if one.model], [one for one in ours if not one.model]):
        assert {one.positive for one in models} == {True, False}


@pytest.mark.parametrize("api", TARGETS["python"].question)
def test_plain_python_gives_every_row_our_verdict(
    api: DecisionApi, serving, program, tmp_path: Path
) -> None:
    """The decision model's outside the band of a cascade, and the chat model's in it."""
    require_equal("python", serving(api), api, program("python"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("target", TOOLS)
def test_the_real_tool_gives_every_row_our_verdict(
    target: str, serving, program, tmp_path: Path
) -> None:
    """Over OpenAI's interface, which every one of them can ask."""
    require_equal(target, serving("decisions"), "decisions", program(target), tmp_path)
