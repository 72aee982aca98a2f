"""Kill a worker and the driver of `bench --engine dask`, resume, and count what was paid.

`python benchmarks/dask_kills.py --rows 3000 --rounds 10` asks an endpoint that counts what it
bills, with two workers; one is killed when 40 % of the rows are billed, the driver at 70 %. Then
the command is given again, and once more. Leaves with 1 where a row is missing, more was billed
twice than was in flight at the kills, the workspace says less money than the endpoint billed, or
the last command paid anything. `--postgres` keeps the workspace on a PostgreSQL of Debian's
package, which it starts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from judgewright.judges.models import Completion, Request
from judgewright.judges.simulated import Simulated
from judgewright.judges.simulated.serve import Server, make_app

DOLLARS = 1e-3
"""Price of a token."""


@dataclass
class Counting:
    """The simulated model, which counts what it answers."""

    latency: float
    billed: Counter[bytes] = field(default_factory=Counter)
    tokens: int = 0
    inner: Simulated = field(default_factory=Simulated)
    name: str = "simulated"
    endpoint: str = "counting"
    simulated: bool = True

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer after a while; it is billed before the answer is on its way."""
        completion = await self.inner.complete(
            request, unsupported_parameters=unsupported_parameters
        )
        self.billed[request.key(endpoint="", model="")] += 1
        self.tokens += completion.tokens_in + completion.tokens_out
        await asyncio.sleep(self.latency)
        return completion

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What became of one round."""

    rows: int
    rows_out: int
    billed: int
    in_flight: int
    """At both kills."""
    charged: float
    """US dollars, by the endpoint."""
    recorded: float
    """US dollars spent or in doubt, by the workspace."""
    second: int
    """Calls that the last command paid."""
    repeated: int
    """Attempts for a call that had been answered."""
    seconds: float

    @property
    def good(self) -> bool:
        """Whether all that is promised holds."""
        return (
            self.rows_out == self.rows
            and 0 <= self.billed - self.rows <= self.in_flight
            and self.recorded >= self.charged - 1e-6
            and self.second == self.repeated == 0
        )


def run_round(
    folder: Path,
    *,
    rows: int,
    address: str = "",
    latency: float = 0.2,
    worker_at: float = 0.4,
    driver_at: float = 0.7,
    workers: int = 2,
) -> Counts:
    """Bench with two kills, resume, bench again; return what was counted."""
    write_rows(folder / "rows.jsonl", rows)
    model = Counting(latency)
    began = time.monotonic()
    with Server(make_app(model)) as server:
        first = bench(folder, server.base_url, workers, address)
        wait_until(model, worker_at * rows, first)
        in_flight = kill_worker(folder, first.pid, address)
        wait_until(model, driver_at * rows, first)
        first.kill()
        first.wait()
        in_flight += open_attempts(folder, address)
        end(bench(folder, server.base_url, workers, address))
        before = sum(model.billed.values())
        lines = (folder / "verdicts.jsonl").read_text().splitlines()
        end(bench(folder, server.base_url, workers, address))
        second = sum(model.billed.values()) - before
    done = [line for line in map(json.loads, lines) if line["verdict"] is not None]
    recorded, repeated = read_attempts(folder, address)
    return Counts(
        rows=rows,
        rows_out=len({line["id"] for line in done}),
        billed=before,
        in_flight=in_flight,
        charged=DOLLARS * model.tokens,
        recorded=recorded,
        second=second,
        repeated=repeated,
        seconds=time.monotonic() - began,
    )


def write_rows(path: Path, rows: int) -> None:
    """Write made-up rows, no two alike."""
    with path.open("w") as file:
        for i in range(rows):
            said = "blue" if i % 3 else "green"
            row = {
                "id": f"r{i}",
                "source": f"Sky {i} is blue.",
                "statement": f"Sky {i} is {said}.",
                "label": int(i % 3 > 0),
            }
            file.write(json.dumps(row) + "\n")


def bench(folder: Path, base_url: str, workers: int, address: str) -> subprocess.Popen[bytes]:
    """Start the command."""
    price = {"input": 1e6 * DOLLARS, "output": 1e6 * DOLLARS}
    priced = {"model": "simulated", "base_url": base_url, "price": price}
    models = folder / "own-models.yaml"
    models.write_text(json.dumps({"priced": priced}))
    flags = [
        "--model",
        "priced",
        "--engine",
        f"dask={workers}",
        "--out",
        "verdicts.jsonl",
    ]
    flags += ["--workspace", address] if address else []
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "judgewright",
            "bench",
            "groundedness",
            "rows.jsonl",
            *flags,
            "--budget",
            "100000",
        ],
        cwd=folder,
        env={**os.environ, "JUDGEWRIGHT_MODELS": str(models)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a command that has to succeed."""
    _, said = process.communicate(timeout=600)
    if process.returncode:
        raise RuntimeError(said.decode())


def wait_until(model: Counting, billed: float, process: subprocess.Popen[bytes]) -> None:
    """Return once so much is billed."""
    while sum(model.billed.values()) < billed:
        if process.poll() is not None:
            assert process.stderr is not None
            raise RuntimeError(f"ended before it could be killed: {process.stderr.read().decode()}")
        time.sleep(0.02)


def kill_worker(folder: Path, driver: int, address: str) -> int:
    """Kill one worker of a driver; return how many of all attempts were in flight."""
    workers = [
        p
        for p in psutil.Process(driver).children(recursive=True)
        if "spawn_main" in " ".join(p.cmdline())
    ]
    os.kill(workers[-1].pid, signal.SIGKILL)
    return open_attempts(folder, address)


def open_attempts(folder: Path, address: str) -> int:
    """How many attempts are entered and have no answer."""
    return int(read_one(folder, address, "SELECT count(*) FROM attempt WHERE state = 'sent'")[0])


def read_attempts(folder: Path, address: str) -> tuple[float, int]:
    """Dollars spent or in doubt, and how many calls were asked that had been answered."""
    sql = (
        "SELECT sum(CASE state WHEN 'done' THEN cost WHEN 'not_charged' THEN 0 ELSE reserved_cost"
        " END), sum(repeated)"
    )
    recorded, repeated = read_one(folder, address, f"{sql} FROM attempt")
    return float(recorded), int(repeated)


def read_one(folder: Path, address: str, sql: str) -> tuple[Any, ...]:
    """Read one line of the workspace, behind its back."""
    if address:
        import psycopg

        with psycopg.connect(address) as server:
            return server.execute(sql).fetchone() or ()
    file = f"file:{folder / '.judgewright/judgewright.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(file, uri=True, timeout=30)) as store:
        return store.execute(sql).fetchone()


@contextlib.contextmanager
def postgres() -> Iterator[Callable[[], str]]:
    """Start a server; yield what makes an empty database and returns its address."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugins" / "postgres"))
    from server import PostgresServer, find_programs

    programs = find_programs()
    if programs is None:
        sys.exit("Debian's package postgresql is not installed")
    server = PostgresServer(programs, settings=())
    try:
        yield lambda: server.url(server.new())
    finally:
        server.remove()


@contextlib.contextmanager
def empty_folder() -> Iterator[Path]:
    """A folder that is removed at the end."""
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Print a line a round."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    with postgres() if options.postgres else contextlib.nullcontext(str) as new_address:
        good = run_rounds(options.rounds, options.rows, options.latency, new_address)
    print("all good" if good else "NOT GOOD")
    sys.exit(0 if good else 1)


def run_rounds(rounds: int, rows: int, latency: float, new_address: Callable[[], str]) -> bool:
    """Print a line a round; return whether all were good."""
    good = True
    print(
        "round  rows out  billed  twice  in flight  charged $  recorded $  second run  repeated "
        " seconds"
    )
    for number in range(1, rounds + 1):
        with empty_folder() as folder:
            c = run_round(folder, rows=rows, address=new_address(), latency=latency)
        good &= c.good
        print(
            f"{number:5}  {c.rows_out:8,}  {c.billed:6,}  {c.billed - c.rows:5}  {c.in_flight:9} "
            f" {c.charged:9.2f}  {c.recorded:10.2f}  {c.second:10}  {c.repeated:8} "
            f" {c.seconds:7.1f}  {'' if c.good else 'NOT GOOD'}",
            flush=True,
        )
    return good


if __name__ == "__main__":
    main()
