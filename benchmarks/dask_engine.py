"""How much of an endpoint's rate `--engine dask` uses, and how often it is refused.

`python benchmarks/dask_engine.py` benches made-up rows with four workers at an endpoint that
answers after 200 ms and takes 400 requests a second, in a process of its own; more are refused with
429. What is printed is a ratio to that limit, over the time between the first and the last request:
     starting processes is not part of it. The endpoint counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dask_kills import Counting, write_rows

from judgewright.judges import ModelError
from judgewright.judges.models import Completion, Request

BURST = 0.1
"""Seconds' worth of requests that the endpoint takes at once."""


@dataclass
class Limited(Counting):
    """An endpoint that takes so many requests a second."""

    per_second: float = 400.0
    refused: int = 0
    first: float = 0.0
    last: float = 0.0
    level: float = 0.0
    at: float = field(default_factory=time.monotonic)
    text: Completion | None = None

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Refuse what is too fast at once, and answer the rest after a while."""
        now = time.monotonic()
        self.first = self.first or now
        self.level = min(BURST * self.per_second, self.level + (now - self.at) * self.per_second)
        self.at = now
        if self.level < 1.0:
            self.refused += 1
            raise ModelError("too many requests", status=429, retryable=True)
        self.level -= 1.0
        completion = await super().complete(request, unsupported_parameters=unsupported_parameters)
        self.last = time.monotonic()
        return completion


def serve(latency: float, per_second: float) -> None:
    """Serve until the other end of our input is closed; then print what was counted."""
    from judgewright.judges.simulated.serve import Server, make_app

    model = Limited(latency, per_second=per_second)
    with Server(make_app(model)) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
    billed = sum(model.billed.values())
    seconds = model.last - model.first
    print(
        json.dumps(
            {
                "billed": billed,
                "rows": len(model.billed),
                "refused": model.refused,
                "seconds": seconds,
            }
        )
    )


def measure(
    rows: int, workers: int, latency: float, per_second: float, concurrency: int
) -> dict[str, Any]:
    """Bench once, and return what the endpoint counted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.jsonl", rows)
        command = [
            sys.executable,
            __file__,
            "--serve",
            "--latency",
            str(latency),
            "--per-second",
            str(per_second),
        ]
        endpoint = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert endpoint.stdout is not None
        url = endpoint.stdout.readline().strip()
        flags = ["--model", f"simulated@{url}", "--concurrency", str(concurrency)]
        flags += ["--engine", f"dask={workers}"] if workers else []
        bench = [sys.executable, "-m", "judgewright", "bench", "groundedness", "rows.jsonl", *flags]
        subprocess.run(
            bench, cwd=folder, env=dict(os.environ), check=True, stdout=subprocess.DEVNULL
        )
        counted, _ = endpoint.communicate("")
        return json.loads(counted)


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--workers", type=int, default=4, help="0: one process, without dask.")
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--per-second", type=float, default=400.0)
    parser.add_argument("--concurrency", type=int, default=200)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        serve(options.latency, options.per_second)
        return
    c = measure(
        options.rows, options.workers, options.latency, options.per_second, options.concurrency
    )
    rate = c["billed"] / c["seconds"]
    refusals = c["refused"] / (c["billed"] + c["refused"])
    print(
        f"{options.workers} workers, {c['rows']:,} rows in {c['seconds']:.1f} s: {rate:.0f} answers"
        f" a second, {rate / options.per_second:.2f} of the limit; {c['refused']:,} refused,"
        f" {refusals:.2%}"
    )


if __name__ == "__main__":
    main()
