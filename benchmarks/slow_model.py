"""Walk `models test`, `bench` and `optimize` with a real llama.cpp server that is made slow, and
time every line.

    python benchmarks/slow_model.py MODEL.gguf [--rate 10] [--rows 60] [--folder DIR] [--walk bench]

A small model is enough (a few hundred million parameters); `xllamacpp` serves it, with grammars,
and a proxy on the loopback holds each reply back until the model would have written it at `--rate`
tokens a second, one reply after the other. The commands run as a user would run them; each line of
theirs is kept with the second at which it came, in `FOLDER/WALK.log`. Exits 1 where a command was
silent for more than 3 s after its first second, where a request was sent that the timeout could not
reach, or where a command ended without saying why.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientSession, ClientTimeout, web

from judgewright.runs.demo import demo_rows

SILENCE = 3.0
"""Seconds."""
START = 8.0
"""Seconds that a process may take until its first line, and after its last: importing is no model's
fault.
"""
TIMEOUT = 120.0
SERVE = """
import sys, threading
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.warmup = 4096, 1, False
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
threading.Event().wait()
"""
OBJECTIVE = "do not call unsupported statements grounded"


@dataclass
class Slow:
    """The proxy: one request at a time, each as long as its tokens take."""

    upstream: str
    rate: float
    asked: list[tuple[float, int, int]] = field(default_factory=list)
    """Seconds, tokens that were asked for at most, and tokens that came, of each request."""
    one: asyncio.Lock = field(init=False)
    session: ClientSession = field(init=False)
    left: int = 0
    """Requests that the client did not wait for."""

    async def answer(self, request: web.Request) -> web.Response:
        """Pass a request on, and hold its reply back."""
        began, body = time.monotonic(), await request.read()
        limit = json.loads(body).get("max_tokens") or 0
        try:
            async with (
                self.one,
                self.session.post(self.upstream + request.path, data=body) as reply,
            ):
                first, raw = time.monotonic(), await reply.read()
                tokens = (
                    (json.loads(raw).get("usage") or {}).get("completion_tokens", 0)
                    if reply.status == 200
                    else 0
                )
                await asyncio.sleep(max(0.0, tokens / self.rate - (time.monotonic() - first)))
        except asyncio.CancelledError:
            self.left += 1
            raise
        self.asked.append((time.monotonic() - began, limit, tokens))
        return web.Response(body=raw, status=reply.status, content_type="application/json")

    def serve(self) -> str:
        """Start in a thread; return the address."""
        ready: list[int] = []
        started = threading.Event()

        async def run() -> None:
            self.one = asyncio.Lock()
            self.session = ClientSession(timeout=ClientTimeout(total=None))
            app = web.Application(client_max_size=1 << 26)
            app.router.add_route("*", "/{tail:.*}", self.answer)
            runner = web.AppRunner(app, handler_cancellation=True)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            ready.append(runner.addresses[0][1])
            started.set()
            await asyncio.Event().wait()

        threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
        started.wait()
        return f"http://127.0.0.1:{ready[0]}/v1"


def run(name: str, words: list[str], folder: Path) -> tuple[int, list[tuple[float, str]]]:
    """Run a command; return its exit code and its lines with their seconds."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "XDG_CONFIG_HOME": str(folder)}
    for key in [key for key in environment if key.endswith("_API_KEY")]:
        del environment[key]
    began, lines = time.monotonic(), list[tuple[float, str]]()
    command = [sys.executable, "-m", "judgewright", *words]
    with (
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
        (folder / f"{name}.log").open("w") as log,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            lines.append((time.monotonic() - began, line.rstrip("\n")))
            log.write(f"{lines[-1][0]:7.1f}  {lines[-1][1]}\n")
            log.flush()
    lines.append((time.monotonic() - began, f"exit code {process.returncode}"))
    return process.returncode, lines


def walks(address: str, rows: Path) -> dict[str, list[str]]:
    """Return the commands."""
    model = ["--model", f"gemma@{address}"]
    return {
        "models-test": ["models", "test", f"gemma@{address}"],
        "bench": ["bench", "groundedness", str(rows), *model],
        "optimize": [
            "optimize",
            "groundedness",
            str(rows),
            "--objective",
            OBJECTIVE,
            "--target",
            "precision",
            "--steps",
            "2",
            *model,
        ],
    }


def main() -> int:
    """Walk, and print what each walk took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--walk", action="append", default=[])
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in demo_rows()[: options.rows]))
    failed = False
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(options.model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        upstream = next(line.split()[1] for line in server.stdout if line.startswith("listening "))
        slow = Slow(upstream if upstream.startswith("http") else f"http://{upstream}", options.rate)
        for name, words in walks(slow.serve(), rows).items():
            if options.walk and name not in options.walk:
                continue
            before, left = len(slow.asked), slow.left
            code, lines = run(name, words, folder)
            gaps = [(b - a, at) for (a, _), (b, at) in itertools.pairwise(lines)]
            ending, _ = gaps.pop()  # until the process is gone, after its last line
            longest, after = max(gaps, default=(0.0, ""))
            asked = slow.asked[before:]
            beyond = sum(limit / options.rate > TIMEOUT for _, limit, _ in asked)
            said = next(
                (line for _, line in lines if line.startswith(("error:", "Gate", "ACCEPTED"))),
                lines[-2][1],
            )
            print(
                f"{name}: exit {code} after {lines[-1][0]:.0f} s; first line {lines[0][0]:.1f} s,"
                f" longest silence {longest:.1f} s (before {after!r:.70}); {len(asked)} requests,"
                f" {beyond} that the timeout cannot reach, {slow.left - left} given up; says"
                f" {said!r:.150}",
                flush=True,
            )
            failed |= longest > SILENCE or max(lines[0][0], ending) > START or beyond > 0
    finally:
        server.kill()
        server.communicate()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
