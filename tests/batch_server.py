"""An endpoint with a batch queue as OpenAI serves it, which answers by the simulated model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from judgewright.judges.simulated import Simulated, make_app, read_request
from judgewright.judges.simulated.chat import json_response, write_answer


@dataclass(eq=False)
class BatchServer:
    """The queue has no clock: a batch moves on when somebody looks at it."""

    looks: int = 0
    """Looks at a batch that find it still validating."""
    batch_fate: Callable[[int], str] = lambda _: ""
    """What goes wrong with a batch, by its number from 1: `rejected`, or `expired` after half."""
    line_fate: Callable[[int, int], str] = lambda *_: ""
    """What goes wrong with a request, by the number of its batch and its line: `failed` or `lost`.
    """
    billed: Counter[bytes] = field(default_factory=Counter[bytes])
    """How often each body was answered."""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    batches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    looked: Counter[str] = field(default_factory=Counter[str])

    def app(self) -> Starlette:
        """Return the endpoint, with its single calls."""
        app = make_app(Simulated())
        app.router.routes += [
            Route("/v1/files", self.upload, methods=["POST"]),
            Route("/v1/files/{id}/content", self.download, methods=["GET"]),
            Route("/v1/batches", self.create, methods=["POST"]),
            Route("/v1/batches", self.list, methods=["GET"]),
            Route("/v1/batches/{id}", self.look, methods=["GET"]),
        ]
        return app

    async def upload(self, http: Request) -> Response:
        """Keep a file."""
        head = f"content-type: {http.headers['content-type']}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + await http.body())
        for part in form.iter_parts():
            if part.get_param("name", header="content-disposition") == "file":
                return json_response({"id": self._keep(part.get_payload(decode=True))})
        return json_response({}, status=400)

    async def download(self, http: Request) -> Response:
        """Return what a file holds."""
        return Response(self.files[http.path_params["id"]])

    async def create(self, http: Request) -> Response:
        """Begin a batch."""
        body = orjson.loads(await http.body())
        assert body["input_file_id"] in self.files
        name = f"batch_{len(self.batches) + 1:06d}"
        self.batches.append({**body, "id": name, "status": "validating"})
        return json_response(self.batches[-1])

    async def list(self, http: Request) -> Response:
        """List batches, the newest first."""
        return json_response({"data": self.batches[::-1], "has_more": False})

    async def look(self, http: Request) -> Response:
        """Return a batch, after it has moved on."""
        name = http.path_params["id"]
        (number,) = (n for n, one in enumerate(self.batches, 1) if one["id"] == name)
        batch = self.batches[number - 1]
        self.looked[name] += 1
        if batch["status"] == "validating" and self.looked[name] > self.looks:
            batch |= await self._results(number, self.files[batch["input_file_id"]].splitlines())
        return json_response(batch)

    async def _results(self, number: int, lines: list[bytes]) -> dict[str, Any]:
        fate = self.batch_fate(number)
        if fate == "rejected":
            reason = {"message": "the file is rejected", "line": 1}
            return {"status": "failed", "errors": {"data": [reason]}}
        worked = len(lines) // 2 if fate == "expired" else len(lines)
        output: list[bytes] = []
        errors: list[bytes] = []
        for at, line in enumerate(map(orjson.loads, lines)):
            name = line["custom_id"]
            one = "expired" if at >= worked else self.line_fate(number, at)
            if one == "failed":
                response = {"status_code": 500, "body": {"error": {"message": "it failed"}}}
                errors.append(orjson.dumps({"custom_id": name, "response": response}))
            elif one == "expired":
                error = {"code": "batch_expired", "message": "it expired"}
                errors.append(orjson.dumps({"custom_id": name, "response": None, "error": error}))
            elif not one:
                response = {"status_code": 200, "body": await self._answer(line["body"])}
                output.append(orjson.dumps({"custom_id": name, "response": response}))
        return {
            "status": "expired" if fate else "completed",
            "request_counts": {"completed": len(output), "failed": len(errors)},
            "output_file_id": self._keep(b"\n".join(output)) if output else None,
            "error_file_id": self._keep(b"\n".join(errors)) if errors else None,
        }

    async def _answer(self, body: dict[str, Any]) -> orjson.Fragment:
        self.billed[orjson.dumps(body)] += 1
        request = read_request(body)
        return orjson.Fragment(write_answer(await Simulated().complete(request), request, "m"))

    def _keep(self, content: object) -> str:
        assert isinstance(content, bytes)
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name
