"""CPU and time of one judge call: ours in both transports, bare HTTP loops, and the tools that are
installed.

    python benchmarks/calls.py [--calls 1000] [--rounds 3] [--in-flight 1 16 64 256 512] [--latency
        0 0.2] [--clients aiohttp plain ...] [--out TABLE.md]

The endpoint is a process of its own, and so is every measurement; the clients take turns within a
round, and a cell is the median over rounds of the ratio to bare aiohttp in the same round, so that
a busy machine changes little. `ms` is CPU of one call, system time included. Ours judges rows from
the beginning (render, look up, store twice, read); the bare loops send bodies that were rendered
before and only parse the JSON of the reply.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

LENGTH = 1500
"""Characters of a row."""
WARM_UP = 64
"""Calls before the measurement: imports, connections, compiled statements."""
SLOW = ("dspy", "litellm")
"""Clients that get a quarter of the calls."""
BASE = "aiohttp"


# The endpoint.


class Endpoint(asyncio.Protocol):
    """Answers every chat request with the same verdict, after the latency; reads no more than it
    must.
    """

    latency = 0.0

    def __init__(self) -> None:
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end]).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.received) < end + 4 + length:
                return
            answer = DSPY_ANSWER if b"[[ ## " in self.received else ANSWER
            del self.received[: end + 4 + length]
            if self.latency:
                asyncio.get_running_loop().call_later(self.latency, self.write, answer)
            else:
                self.write(answer)

    def write(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)  # type: ignore[attr-defined]


def http_answer(text: str) -> bytes:
    """Return a chat completion with its headers."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 700, "completion_tokens": 40, "total_tokens": 740}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": choices,
        "usage": usage,
    }
    raw = orjson.dumps(body)
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        len(raw),
        raw,
    )


ANSWER = http_answer(
    '{"reason": "'
    + "The source states it in so many words. " * 4
    + '", "score": 2, "confidence": 0.9}'
)
DSPY_ANSWER = http_answer("[[ ## score ## ]]\n2\n\n[[ ## completed ## ]]")


async def serve(latency: float) -> None:
    """Listen until killed; print the port."""
    Endpoint.latency = latency
    server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# Clients; each returns a function that makes so many calls.


def dataset(n: int, seed: int) -> Any:
    """Return rows of a groundedness judge."""
    from judgewright.judges import Dataset, Row, parse_label_scale

    filler = "The committee met in spring and heard what the engineers had measured. " * (
        LENGTH // 70
    )
    rows = []
    for i in range(n):
        inputs = {"source": f"{seed} {i} {filler}", "statement": f"The committee met {i} times."}
        rows.append(Row(id=f"{seed}-{i}", inputs=inputs))
    return Dataset.of(rows, labels=parse_label_scale("binary"))


def prompt() -> Any:
    """Return the judge."""
    from judgewright.judges import Registry

    return Registry().get("groundedness")


def bodies(n: int, seed: int) -> list[dict[str, Any]]:
    """Return the requests of the same rows as JSON."""
    from judgewright.judges import JudgeSettings, judge_request

    judge, settings = prompt(), JudgeSettings()
    rows = dataset(n, seed).rows
    return [
        {"model": "m", "max_tokens": 512, **judge_request(judge, row, settings=settings).body()}
        for row in rows
    ]


async def in_flight(
    limit: int, requests: list[dict[str, Any]], call: Callable[[Any], Awaitable[None]]
) -> None:
    """Make all calls, so many at a time."""
    queue: Iterator[dict[str, Any]] = iter(requests)

    async def work() -> None:
        for request in queue:
            await call(request)

    await asyncio.gather(*(work() for _ in range(limit)))


def bare_aiohttp(url: str, limit: int) -> Callable[[int, int], None]:
    """A loop over aiohttp and orjson."""
    import aiohttp

    loop = asyncio.new_event_loop()

    async def open_session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=limit))

    session = loop.run_until_complete(open_session())
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}

    async def call(body: dict[str, Any]) -> None:
        async with session.post(
            f"{url}/chat/completions", data=orjson.dumps(body), headers=headers
        ) as response:
            orjson.loads(await response.read())

    def run(n: int, seed: int) -> None:
        requests = bodies(n, seed)
        start_clock()
        loop.run_until_complete(in_flight(limit, requests, call))

    return run


def openai_loop(url: str, limit: int, *, parsed: bool) -> Callable[[int, int], None]:
    """A loop over `openai` on aiohttp, with its response model or without."""
    from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAioHttpClient

    limits = type(DEFAULT_CONNECTION_LIMITS)(max_connections=limit)
    client = AsyncOpenAI(
        api_key="none",
        base_url=url,
        max_retries=0,
        timeout=120.0,
        http_client=DefaultAioHttpClient(limits=limits),
    )
    loop = asyncio.new_event_loop()

    async def call(body: dict[str, Any]) -> None:
        if parsed:
            await client.chat.completions.create(**body)
        else:
            await client.post("/chat/completions", body=body, cast_to=object)

    def run(n: int, seed: int) -> None:
        requests = bodies(n, seed)
        start_clock()
        loop.run_until_complete(in_flight(limit, requests, call))

    return run


def ours(url: str, limit: int, *, transport: str, stored: bool) -> Callable[[int, int], None]:
    """`judge` with a client, stored in a workspace or in memory."""
    from judgewright.judges import Client, Endpoint, judge
    from judgewright.runs.store import CallStore, Workspace

    endpoint = Endpoint(
        name="m", base_url=url, api_key=None, max_connections=limit, **transport_option(transport)
    )
    folder = tempfile.TemporaryDirectory()
    record = CallStore(Workspace(Path(folder.name)).database, "run") if stored else None
    client = Client(endpoint, record=record, concurrency=limit)
    judge_prompt = prompt()

    def run(n: int, seed: int, keep: object = folder) -> None:
        rows = dataset(n, seed)
        start_clock()
        answers = judge(judge_prompt, rows, client).answers
        assert all(hasattr(answer, "score") for answer in answers), answers[0]

    return run


def transport_option(name: str) -> dict[str, Any]:
    """Return how an endpoint is told its transport."""
    return {"transport": name}


def dspy_evaluate(url: str, limit: int) -> Callable[[int, int], None]:
    """DSPy's Evaluate over a signature, its cache off."""
    import dspy

    dspy.configure(
        lm=dspy.LM("openai/m", api_base=url, api_key="none", cache=False, max_tokens=512)
    )
    predict = dspy.Predict("source, statement -> score: int")

    def run(n: int, seed: int) -> None:
        examples = [
            dspy.Example(**row.inputs).with_inputs("source", "claim")
            for row in dataset(n, seed).rows
        ]
        evaluate = dspy.Evaluate(
            devset=examples,
            metric=lambda example, prediction, trace=None: prediction.score == 2,
            num_threads=limit,
            display_progress=False,
        )
        start_clock()
        evaluate(predict)

    return run


def litellm_loop(url: str, limit: int) -> Callable[[int, int], None]:
    """A loop over LiteLLM."""
    import litellm

    loop = asyncio.new_event_loop()

    async def call(body: dict[str, Any]) -> None:
        await litellm.acompletion(
            **{**body, "model": "openai/m"}, api_base=url, api_key="none", num_retries=0
        )

    def run(n: int, seed: int) -> None:
        requests = bodies(n, seed)
        start_clock()
        loop.run_until_complete(in_flight(limit, requests, call))

    return run


CLIENTS: dict[str, tuple[str, Callable[[str, int], Callable[[int, int], None]]]] = {
    "aiohttp": ("bare aiohttp", bare_aiohttp),
    "post": ("openai, no response model", lambda url, n: openai_loop(url, n, parsed=False)),
    "create": ("openai, response model", lambda url, n: openai_loop(url, n, parsed=True)),
    "plain-unstored": (
        "ours, plain, in memory",
        lambda url, n: ours(url, n, transport="plain", stored=False),
    ),
    "plain": ("ours, plain, stored", lambda url, n: ours(url, n, transport="plain", stored=True)),
    "openai-unstored": (
        "ours, openai, in memory",
        lambda url, n: ours(url, n, transport="openai", stored=False),
    ),
    "openai": (
        "ours, openai, stored",
        lambda url, n: ours(url, n, transport="openai", stored=True),
    ),
    "dspy": ("DSPy Evaluate, no cache", dspy_evaluate),
    "litellm": ("LiteLLM", litellm_loop),
}


# Measuring.

started: list[tuple[float, float]] = []


def start_clock() -> None:
    """Note CPU and wall time; called when what shall not be measured is done."""
    started.append((time.process_time(), time.perf_counter()))


def measure(client: str, url: str, limit: int, calls: int) -> None:
    """Print CPU and wall seconds of one call, and memory."""
    run = CLIENTS[client][1](url, limit)
    run(max(WARM_UP, limit), 0)
    run(calls, 1)
    cpu, wall = started[-1]
    figures = {
        "cpu": (time.process_time() - cpu) / calls,
        "wall": (time.perf_counter() - wall) / calls,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures), flush=True)
    os._exit(0)


def child(*words: object, **more: Any) -> Any:
    """Start this file again in another role."""
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, words)], stdout=subprocess.PIPE, text=True, **more
    )


def measured(client: str, url: str, limit: int, calls: int) -> dict[str, float] | None:
    """Measure in a process of its own; None where the client is not installed or fails."""
    process = child("measure", client, url, limit, calls, stderr=subprocess.DEVNULL)
    lines = process.communicate()[0].splitlines()
    return json.loads(lines[-1]) if process.returncode == 0 and lines else None


def table(
    results: dict[tuple[str, int], list[dict[str, float] | None]],
    limits: list[int],
    clients: list[str],
) -> str:
    """Return the ratios as a table in Markdown."""
    lines = [
        "| CPU (time) as ratios to bare aiohttp | "
        + " | ".join(map(str, limits))
        + " | ms at most | MB |"
    ]
    lines.append("|---" * (len(limits) + 3) + "|")
    for client in clients:
        cells, last = [], None
        for limit in limits:
            ratios = []
            for ours_, base in zip(results[client, limit], results[BASE, limit], strict=True):
                if ours_ and base:
                    ratios.append((ours_["cpu"] / base["cpu"], ours_["wall"] / base["wall"]))
                    last = ours_
            cell = "-"
            if ratios:
                cpu, wall = (statistics.median(pair[i] for pair in ratios) for i in (0, 1))
                cell = f"{cpu:.2f} ({wall:.2f})"
            cells.append(cell)
        if last is not None:
            lines.append(
                f"| {CLIENTS[client][0]} | {' | '.join(cells)} | {1000 * last['cpu']:.2f} |"
                f" {last['rss']:.0f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 16, 64, 256, 512])
    parser.add_argument("--latency", type=float, nargs="+", default=[0.0, 0.2])
    parser.add_argument("--clients", nargs="+", default=list(CLIENTS), choices=list(CLIENTS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    clients = list(dict.fromkeys([BASE, *options.clients]))
    text = []
    for latency in options.latency:
        server = child("serve", latency)
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        results: dict[tuple[str, int], list[dict[str, float] | None]] = {}
        try:
            for _ in range(options.rounds):
                for limit in options.in_flight:
                    for client in clients:
                        calls = options.calls // 4 if client in SLOW else options.calls
                        if latency:
                            calls = min(calls, 6 * limit)
                        results.setdefault((client, limit), []).append(
                            measured(client, url, limit, calls)
                        )
        finally:
            server.kill()
            server.wait()
        text.append(
            f"Latency {1000 * latency:.0f} ms, calls in"
            f" flight:\n\n{table(results, options.in_flight, clients)}"
        )
        print(text[-1], "\n", flush=True)
    if options.out:
        options.out.write_text("\n\n".join(text) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(float(sys.argv[2])))
    elif sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
