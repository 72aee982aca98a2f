"""A small real HTTP server with scripted answers, a clock that needs no waiting, and requests to
ask.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from judgewright.judges.models import Message, Request


@dataclass
class Seen:
    """A request as the server saw it."""

    body: dict[str, Any]
    headers: dict[str, str]
    text: str
    """The last message."""
    nth: int
    """How often this text has come, from 1."""
    total: int
    """How many requests have come, from 1."""


@dataclass
class Reply:
    """What the server sends back."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    """Close the connection without a word."""
    cut: bool = False
    """Announce the whole body and send half of it."""
    endless: bool = False
    """Send the body over and over, and never say that it ends."""
    stuck: bool = False
    """Send the body and leave the connection open, as if there were more."""


def completion(text: str = '{"score": 2}', **more: Any) -> dict[str, Any]:
    """Return the body of a chat completion."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "fake-1",
        "choices": [choice],
        "usage": usage,
        **more,
    }


class FakeEndpoint:
    """The server; set `answer` to script it. Counts are kept per text and for the whole."""

    Reply = Reply
    completion = staticmethod(completion)

    def __init__(self) -> None:
        self.answer: Callable[[Seen], Reply] = lambda seen: Reply(
            body=completion(f"echo {seen.text}")
        )
        self.seen: list[Seen] = []
        self.paths: list[str] = []
        self.counts: Counter[str] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self.times: list[float] = []
        self.sent = 0
        """Bytes of bodies the client has taken, or that wait on the way to it."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        """Stop listening and end the thread."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connection, "127.0.0.1", 0)

    async def _shut(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {
            k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)
        }
        body = orjson.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
        self.paths.append(head[0].split()[1])
        reply = self._take(body, headers)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(reply.delay)
            if reply.drop:
                return False
            raw = reply.body if isinstance(reply.body, bytes) else orjson.dumps(reply.body)
            fields = {"content-type": "application/json", **reply.headers}
            if not (reply.endless or reply.stuck):
                fields["content-length"] = str(len(raw))
            lines = [
                f"HTTP/1.1 {reply.status} Scripted",
                *(f"{k}: {v}" for k, v in fields.items()),
                "",
                "",
            ]
            writer.write("\r\n".join(lines).encode() + (raw[: len(raw) // 2] if reply.cut else raw))
            await writer.drain()
            self.sent += len(raw)
            while reply.endless:
                writer.write(raw)
                await writer.drain()
                self.sent += len(raw)
            if reply.stuck:
                await asyncio.Event().wait()
            return not reply.cut
        finally:
            self.in_flight -= 1

    def _take(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        text = body["messages"][-1]["content"] if "messages" in body else ""
        self.counts[text] += 1
        self.times.append(self._loop.time())
        seen = Seen(body, headers, text, self.counts[text], len(self.seen) + 1)
        self.seen.append(seen)
        return self.answer(seen)


class InstantClock:
    """A clock whose sleeps take no time and move it on."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        """See `limits.Clock`."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """See `limits.Clock`."""
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def request(text: str = "a row", **more: Any) -> Request:
    """Return a request about a text."""
    return Request(messages=(Message("system", "You judge."), Message("user", text)), **more)


@pytest.fixture
def fake() -> Iterator[FakeEndpoint]:
    """A server on a free port of the loopback."""
    server = FakeEndpoint()
    yield server
    server.close()


@pytest.fixture
def instant() -> InstantClock:
    """A clock that needs no waiting."""
    return InstantClock()


@pytest.fixture
def ask_for() -> Callable[..., Request]:
    """Make a request about a text."""
    return request


@pytest.fixture(scope="session")
def instant_clock() -> type[InstantClock]:
    """Make such a clock anew, for each example of a property."""
    return InstantClock
