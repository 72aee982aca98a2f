"""A batch queue whose answers have no end, explode or come packed: what is read of any of them has
a limit.
"""

import asyncio
import gzip
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from judgewright.judges import ModelError
from judgewright.judges.models import BatchQueue, Client, Endpoint, Exchange, Message, Request
from judgewright.judges.simulated import Server

STEPS = {
    "upload": ("POST", "/files"),
    "create": ("POST", "/batches"),
    "look": ("GET", "/batches/b"),
}
ENDLESS = b"x" * 65_536
MOST_SENT = 40_000_000
"""Bytes that leave the server for five tries of an answer, what waits on the way included."""


class Hostile:
    """A queue that answers one step as it should not, and the others as they should be."""

    def __init__(self, step: str, status: int, fault: str) -> None:
        self.step, self.status, self.fault = step, status, fault
        self.sent = self.answers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body", False):
            pass
        step = next(
            (name for name, (how, end) in STEPS.items() if self._meets(scope, how, end)), "results"
        )
        if step != self.step:
            body = {"id": "b", "status": "completed", "output_file_id": "o"}
            await self._send(receive, send, 200, [], iter([orjson.dumps(body)]))
            return
        self.answers += 1
        packed = gzip.compress(bytes(50_000_000)) if self.fault == "bomb" else b""
        headers = [(b"content-encoding", b"gzip")] if packed else []
        await self._send(
            receive,
            send,
            self.status,
            headers,
            iter([packed]) if packed else itertools.repeat(ENDLESS),
        )

    def _meets(self, scope: Scope, how: str, end: str) -> bool:
        return scope["method"] == how and scope["path"].endswith(end)

    async def _send(
        self,
        receive: Receive,
        send: Send,
        status: int,
        headers: list[tuple[bytes, bytes]],
        chunks: Iterable[bytes],
    ) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        left = asyncio.ensure_future(receive())
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            self.sent += len(chunk)
            await asyncio.sleep(0)
            if left.done():
                break  # nobody reads any more
        left.cancel()
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("fault", ["endless", "bomb"])
@pytest.mark.parametrize(
    ("step", "status"),
    [
        *((step, status) for step in STEPS for status in (200, 400, 500)),
        ("results", 400),
        ("results", 500),
    ],
)
def test_no_answer_of_a_hostile_queue_is_read_without_limit(
    tmp_path: Path, step: str, status: int, fault: str, measured: Callable[[str], None]
) -> None:
    """Uploads, batches, looks and results, answers and errors alike; a message comes of each."""
    app = Hostile(step, status, fault)
    with Server(app) as server:  # type: ignore[arg-type]
        queue = BatchQueue(base_url=server.base_url, api_key=None, sleep=lambda _: None)
        model = Endpoint(name="m", base_url=server.base_url, api_key=None)
        asking = Client(model, exchange=Exchange(tmp_path, courier=queue))
        with pytest.raises(ModelError) as caught:
            asking.ask([Request(messages=(Message("user", "a row"),))])
    assert "http://127.0.0.1" in str(caught.value) or str(status) in str(caught.value)
    assert ("packed" in str(caught.value)) == (fault == "bomb")
    assert app.sent < MOST_SENT
    measured(
        "22 answers without end or packed, of uploads, batches, looks and results: each read up to"
        " its limit"
    )
