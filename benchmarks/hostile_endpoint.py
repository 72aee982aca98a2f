"""Run `judgewright bench` many times against an endpoint that lies, never ends, explodes and points
elsewhere.

    python benchmarks/hostile_endpoint.py [--runs 200] [--rows 60] [--at-once 2] [--call-seconds 5]
    [--json]

The endpoint is a real server in a process of its own on the loopback. Each row names the fault it
meets, mixed anew in each run; every third row meets none, and the run begins with one of these. The
endpoint counts calls, readable replies (which it would bill) and visits to the address its
redirects name. Each run is a process that is forked from one that has imported everything, with a
fresh workspace; the time limit of a call, two minutes, is made `--call-seconds` here, and a row is
tried `_TRIES` times, so that what trickles or fails for ever can be waited for.

Prints how many rows were answered or unscored and why, rows without an answer although the endpoint
would have given one, the highest peak memory of a run, hangs (runs that had to be killed), and
readable replies against replies kept. Exits 1 where a promise is broken: a row unaccounted for, 300
MB, a hang, a paid reply lost, a redirect followed.
"""

import argparse
import asyncio
import gzip
import json
import os
import random
import signal
import socket
import sqlite3
import sys
import tempfile
import time
import urllib.request
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

from judgewright.judges.models import Client, ModelSettings
from judgewright.runs.cli import main as judgewright

_TRIES = 4
_RUN_SECONDS = 600.0
"""A run that takes longer counts as hanging."""
_MOST_MEMORY = 300_000_000
_CHUNK = b"what went wrong " * 4096
_VERDICT = json.dumps({"reasoning": "as the source says", "score": 3, "confidence": 0.9})

USAGES: dict[str, object] = {
    "usage 9e18": {"prompt_tokens": 9e18, "completion_tokens": 9e18, "total_tokens": 1.8e19},
    "usage 9 * 10**18": {"prompt_tokens": 9 * 10**18, "completion_tokens": 9 * 10**18},
    "usage negative": {"prompt_tokens": -7, "completion_tokens": -1},
    "usage of floats": {"prompt_tokens": 20.5, "completion_tokens": 1.5},
    "usage of words": {"prompt_tokens": "many", "completion_tokens": True},
    "usage with a huge total": {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 10**18,
    },
    "no usage": None,
}
READABLE = ("good", *USAGES, "error once", "bomb 500 once", "trickle once")
"""Faults that a client overcomes: the row must be answered."""
UNREADABLE = (
    "endless reply",
    "endless 400",
    "endless 500",
    "bomb reply",
    "bomb 500",
    "bomb that holds nothing",
    "redirect",
    "headers without end",
    "numbers for a reply",
    "cut reply",
)


def completion(usage: object) -> bytes:
    """Return the body of a readable reply."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": _VERDICT},
        "finish_reason": "stop",
    }
    return json.dumps(
        {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    ).encode()


def bomb(megabytes: int) -> bytes:
    """Return gzip that unpacks to so much."""
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    return b"".join(packer.compress(bytes(1_000_000)) for _ in range(megabytes)) + packer.flush()


@dataclass
class Counts:
    """What the endpoint has seen of one run."""

    calls: int = 0
    readable: set[str] = field(default_factory=set)
    """Rows whose readable reply was sent whole."""
    elsewhere: int = 0
    """Visits to the address that redirects name."""


class HostileEndpoint:
    """A server that does to each request what its text says."""

    def __init__(self) -> None:
        self._counts: dict[str, Counts] = {}
        self._seen: Counter[str] = Counter()
        self._bomb = bomb(300)
        self._port = 0

    async def serve(self, listening: socket.socket) -> None:
        """Answer until killed."""
        self._port = listening.getsockname()[1]
        server = await asyncio.start_server(self._connection, sock=listening)
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:])
        }
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        path = head[0].split()[1]
        run = path.split("/")[1]
        counts = self._counts.setdefault(run, Counts())
        if path.endswith("/counts"):
            body = json.dumps(asdict(counts) | {"readable": sorted(counts.readable)}).encode()
            return _send(writer, 200, body)
        if path.endswith("/elsewhere"):
            counts.elsewhere += 1
            return _send(writer, 200, completion(None))
        text = json.loads(content)["messages"][-1]["content"]
        row = text.partition("ROW ")[2].partition(" END")[0]
        fault = row.partition(": ")[2]
        counts.calls += 1
        self._seen[f"{run} {row}"] += 1
        again = self._seen[f"{run} {row}"] > 1
        if fault in USAGES or fault == "good" or (again and fault.endswith(" once")):
            done = _send(
                writer,
                200,
                completion(USAGES.get(fault, {"prompt_tokens": 20, "completion_tokens": 5})),
            )
            await writer.drain()
            counts.readable.add(row)
            return done
        return await self._spoil(fault, run, writer)

    async def _spoil(self, fault: str, run: str, writer: asyncio.StreamWriter) -> bool:
        packed = {"content-encoding": "gzip"}
        match fault:
            case "error once":
                return _send(writer, 503, b'{"error": {"message": "busy"}}')
            case "endless reply" | "endless 400" | "endless 500":
                return await _pour(
                    writer, 200 if fault.endswith("reply") else int(fault[-3:]), _CHUNK
                )
            case "bomb reply" | "bomb 500" | "bomb 500 once":
                return _send(writer, 200 if fault == "bomb reply" else 500, self._bomb, packed)
            case "bomb that holds nothing":
                return await _pour(writer, 200, gzip.compress(b"") + bytes(60_000), packed)
            case "redirect":
                return _send(
                    writer,
                    307,
                    b"{}",
                    {"location": f"http://127.0.0.1:{self._port}/{run}/elsewhere"},
                )
            case "headers without end":
                return await _pour(
                    writer, 200, b"".join(b"x-%d: y\r\n" % i for i in range(4000)), end=b""
                )
            case "numbers for a reply":
                return _send(writer, 200, b'{"choices": [' + b"0," * 3_000_000 + b"0]}")
            case "cut reply":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n" + completion(None))
                return False
            case "trickle once":
                return await _pour(writer, 200, b" ", seconds=0.05)
        raise AssertionError(f"an unknown fault: {fault}")


def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None
) -> bool:
    fields = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **(headers or {}),
    }
    lines = [
        f"HTTP/1.1 {status} Hostile",
        *(f"{name}: {value}" for name, value in fields.items()),
        "",
        "",
    ]
    writer.write("\r\n".join(lines).encode() + body)
    return True


async def _pour(
    writer: asyncio.StreamWriter,
    status: int,
    chunk: bytes,
    headers: dict[str, str] | None = None,
    *,
    seconds: float = 0.0,
    end: bytes = b"\r\n",
) -> bool:
    """Send a body, or headers where there is no `end` to them, until the client goes away."""
    lines = [
        f"HTTP/1.1 {status} Hostile",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
        "",
    ]
    writer.write("\r\n".join(lines).encode() + end)
    while not writer.is_closing():
        writer.write(chunk)
        await writer.drain()
        await asyncio.sleep(seconds)
    return False


@dataclass
class Report:
    """What came of all runs."""

    runs: int = 0
    calls: int = 0
    answered: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    """By reason and fault."""
    unaccounted: int = 0
    """Rows that are neither."""
    missed: int = 0
    """Rows that are unscored although the endpoint had a readable reply for them."""
    hangs: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Runs that ended otherwise than with exit code 0, by what they said."""
    peak_bytes: int = 0
    """The largest resident memory of a run, the imports included."""
    slowest_seconds: float = 0.0
    paid: int = 0
    """Rows whose readable reply the endpoint has sent."""
    kept: int = 0
    """Of these, rows whose reply stands in the workspace."""
    followed: int = 0
    """Redirects that were followed."""

    @property
    def held(self) -> bool:
        """Whether every promise was kept."""
        broken = self.unaccounted or self.missed or self.hangs or self.failures or self.followed
        return not broken and self.kept == self.paid and self.peak_bytes < _MOST_MEMORY


def write_rows(path: Path, n: int, seed: int, readable: Sequence[str]) -> dict[str, str]:
    """Write a data set of `n` rows; return the fault of each by its id."""
    draw = random.Random(seed)
    faults = {"0": "good"}
    unreadable = draw.sample(UNREADABLE, k=min(len(UNREADABLE), n // 5))
    mixed = [*unreadable, *draw.choices(readable, k=n - 1 - len(unreadable))]
    draw.shuffle(mixed)
    faults |= {str(i): fault for i, fault in enumerate(mixed, start=1)}
    with path.open("w", encoding="utf-8") as file:
        for i, fault in faults.items():
            statement = f"ROW {i}: {fault} END is what this row is about."
            file.write(
                json.dumps(
                    {"id": i, "source": f"Source {i}.", "statement": statement, "label": int(i) % 2}
                )
                + "\n"
            )
    return faults


def start_run(folder: Path, port: int, run: int, call_seconds: float) -> int:
    """Fork a process that is `judgewright bench`; return its id."""
    arguments = [
        "bench",
        "groundedness",
        str(folder / "rows.jsonl"),
        "--model",
        f"m@http://127.0.0.1:{port}/{run}/v1",
    ]
    arguments += ["--workspace", str(folder), "--out", str(folder / "verdicts.jsonl"), "--json"]
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as errors:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
        ModelSettings.__init__.__kwdefaults__["timeout"] = call_seconds
        Client.__init__.__kwdefaults__["tries"] = _TRIES
        judgewright(arguments)
        code = 0
    except SystemExit as done:
        code = int(done.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(code)


def collect(report: Report, folder: Path, faults: dict[str, str], port: int, run: int) -> None:
    """Add what one finished run left behind."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{run}/counts") as response:
        counts = json.load(response)
    report.runs += 1
    report.calls += counts["calls"]
    report.followed += counts["elsewhere"]
    verdicts = folder / "verdicts.jsonl"
    lines = (
        [json.loads(line) for line in verdicts.read_text().splitlines()]
        if verdicts.exists()
        else []
    )
    by_id = {line["id"]: line for line in lines}
    for i, fault in faults.items():
        line = by_id.get(i)
        if line is None:
            report.unaccounted += 1
        elif line["score"] is not None:
            report.answered += 1
        else:
            report.unscored[f"{line['unscored']}: {fault}"] += 1
            report.missed += fault in READABLE
    kept = kept_rows(folder)
    paid = {row.partition(":")[0] for row in counts["readable"]}
    report.paid += len(paid)
    report.kept += len(paid & kept)


def kept_rows(folder: Path) -> set[str]:
    """Return the ids of the rows whose replies a workspace keeps."""
    with sqlite3.connect(folder / ".judgewright" / "judgewright.db") as database:
        requests = database.execute(
            "SELECT request_json FROM request WHERE state = 'done'"
        ).fetchall()
    database.close()
    texts = [json.loads(content)["messages"][-1]["content"] for (content,) in requests]
    return {text.partition("ROW ")[2].partition(":")[0] for text in texts}


def attack(
    runs: int, rows: int, at_once: int, call_seconds: float, readable: Sequence[str]
) -> Report:
    """Run the whole thing; the endpoint is another process, forked before anything else is
    started.
    """
    report = Report()
    # What a first call imports, so that it does not take a part of the time that the call may take.
    import_module("aiohttp")
    with (
        socket.create_server(("127.0.0.1", 0), backlog=1000) as listening,
        tempfile.TemporaryDirectory() as scratch,
    ):
        port = listening.getsockname()[1]
        hostile = HostileEndpoint()
        endpoint = os.fork()
        if not endpoint:
            asyncio.run(hostile.serve(listening))
        try:
            waiting = list(range(runs))
            under_way: dict[int, tuple[int, Path, dict[str, str], float]] = {}
            while waiting or under_way:
                while waiting and len(under_way) < at_once:
                    run = waiting.pop(0)
                    folder = Path(scratch) / str(run)
                    folder.mkdir()
                    faults = write_rows(folder / "rows.jsonl", rows, run, readable)
                    under_way[start_run(folder, port, run, call_seconds)] = (
                        run,
                        folder,
                        faults,
                        time.monotonic(),
                    )
                for process in list(under_way):
                    run, folder, faults, began = under_way[process]
                    done, status, usage = os.wait4(process, os.WNOHANG)
                    seconds = time.monotonic() - began
                    if not done and seconds > _RUN_SECONDS:
                        os.kill(process, signal.SIGKILL)
                        done, status, usage = os.wait4(process, 0)
                        report.hangs += 1
                    if not done:
                        continue
                    del under_way[process]
                    report.peak_bytes = max(
                        report.peak_bytes,
                        usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
                    )
                    report.slowest_seconds = max(report.slowest_seconds, seconds)
                    if status:
                        report.failures[(folder / "stderr").read_text()[-300:]] += 1
                    collect(report, folder, faults, port, run)
                time.sleep(0.05)
        finally:
            os.kill(endpoint, signal.SIGKILL)
            os.waitpid(endpoint, 0)
    return report


def main() -> None:
    """Attack, report, and say whether every promise was kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--call-seconds", type=float, default=5.0)
    parser.add_argument(
        "--no-trickle", action="store_true", help="nothing that only the time limit ends"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    readable = [fault for fault in READABLE if not (options.no_trickle and fault == "trickle once")]
    report = attack(options.runs, options.rows, options.at_once, options.call_seconds, readable)
    if options.json:
        print(json.dumps(vars(report) | {"held": report.held}))
    else:
        print(
            f"{report.runs} runs of {options.rows} rows, {report.calls:,} calls; {report.hangs}"
            " hangs"
        )
        print(
            f"answered {report.answered:,}, unaccounted for {report.unaccounted}, missed"
            f" {report.missed}; unscored:"
        )
        for reason, n in sorted(report.unscored.items()):
            print(f"  {n:5} {reason}")
        print(
            f"readable replies sent {report.paid:,}, kept {report.kept:,}; redirects followed"
            f" {report.followed}"
        )
        print(
            f"peak memory {report.peak_bytes / 1e6:.0f} MB; slowest run"
            f" {report.slowest_seconds:.0f} s"
        )
        for message, n in report.failures.items():
            print(f"{n} runs failed: {message}")
        print("every promise held" if report.held else "A PROMISE WAS BROKEN")
    sys.exit(0 if report.held else 1)


if __name__ == "__main__":
    main()
