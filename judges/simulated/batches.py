"""A batch queue as OpenAI serves it: files are uploaded, a batch works through one, its results are
files again.

The queue has no clock. A batch moves on when somebody looks at it: it is validated for
`batch_looks` looks, and the next one finds it finished. Uploads and batches live as long as the
server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING, Any

import orjson

from .chat import error_response, json_response
from .faults import Faults

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response
    from starlette.routing import Route

Answer = Callable[[bytes], "Awaitable[Response]"]
"""Answers the body of one request."""


@dataclass(slots=True)
class _Batch:
    number: int
    content: bytes
    body: dict[str, Any]  # Any: JSON
    """What a client reads of it."""
    looks: int = 0


class BatchQueue:
    """The routes of files and batches.

    Args:
        answer: Answers single requests; the same as calls get, without faults of the connection.
        faults: What goes wrong with batches on purpose.
    """

    def __init__(self, answer: Answer, faults: Faults) -> None:
        self._answer = answer
        self._faults = faults
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, _Batch] = {}
        self._finished: Counter[bytes] = Counter()
        """How often a request has come to its end: each time has a fate of its own."""
        self.counts: Counter[str] = Counter()

    def routes(self) -> list[Route]:
        """Return what the endpoint serves beside single calls."""
        from starlette.routing import Route

        return [
            Route("/v1/files", self.upload, methods=["POST"]),
            Route("/v1/files/{id}/content", self.download, methods=["GET"]),
            Route("/v1/batches", self.create, methods=["POST"]),
            Route("/v1/batches", self.list, methods=["GET"]),
            Route("/v1/batches/{id}", self.look, methods=["GET"]),
        ]

    async def upload(self, http: HttpRequest) -> Response:
        """Keep a file."""
        head = f"content-type: {http.headers.get('content-type', '')}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + await http.body())
        for part in form.iter_parts() if form.is_multipart() else ():
            if part.get_param("name", header="content-disposition") == "file":
                content = part.get_payload(decode=True)
                assert isinstance(content, bytes)
                return json_response(self._keep(part.get_filename() or "file", content))
        return error_response(400, "no part of the form is a file")

    async def download(self, http: HttpRequest) -> Response:
        """Return what a file holds."""
        from starlette.responses import Response

        content = self._files.get(http.path_params["id"])
        if content is None:
            return error_response(404, "there is no such file")
        return Response(content, media_type="application/octet-stream")

    async def create(self, http: HttpRequest) -> Response:
        """Begin a batch."""
        body: Mapping[str, Any] = orjson.loads(await http.body())  # Any: JSON
        content = self._files.get(str(body.get("input_file_id")))
        if content is None:
            return error_response(400, "input_file_id is no file")
        number = len(self._batches) + 1
        batch = _Batch(
            number,
            content,
            {
                "id": f"batch_{number:06d}",
                "object": "batch",
                "endpoint": body.get("endpoint"),
                "input_file_id": body["input_file_id"],
                "completion_window": "24h",
                "status": "validating",
                "created_at": 0,
                "metadata": body.get("metadata") or {},
                "request_counts": _counts(content, 0, 0),
                "output_file_id": None,
                "error_file_id": None,
                "errors": None,
            },
        )
        self._batches[batch.body["id"]] = batch
        self.counts["created"] += 1
        return json_response(batch.body)

    async def list(self, http: HttpRequest) -> Response:
        """List batches, the newest first."""
        ids = [*reversed(self._batches)]
        after, limit = http.query_params.get("after"), int(http.query_params.get("limit", "20"))
        start = ids.index(after) + 1 if after in ids else 0
        page = [self._batches[name].body for name in ids[start : start + limit]]
        return json_response({"object": "list", "data": page, "has_more": start + limit < len(ids)})

    async def look(self, http: HttpRequest) -> Response:
        """Return a batch, after it has moved on."""
        batch = self._batches.get(http.path_params["id"])
        if batch is None:
            return error_response(404, "there is no such batch")
        if batch.body["status"] == "validating":
            batch.looks += 1
            if batch.looks > self._faults.batch_looks:
                await self._finish(batch)
        return json_response(batch.body)

    async def _finish(self, batch: _Batch) -> None:
        fate = self._faults.batch(batch.number)
        if fate is not None:
            self.counts[fate] += 1
        if fate == "batch_rejected":
            message = "injected fault: the file is rejected"
            refusals = [{"code": "invalid_json_line", "message": message, "line": 1}]
            batch.body |= {"status": "failed", "errors": {"object": "list", "data": refusals}}
            return
        lines = batch.content.splitlines()
        worked = len(lines) // 2 if fate == "batch_expired" else len(lines)
        output: list[bytes] = []
        errors: list[bytes] = []
        for line in lines[:worked]:
            await self._work(orjson.loads(line), output, errors)
        for line in lines[worked:]:
            custom_id = orjson.loads(line)["custom_id"]
            message = "This request could not be executed before it expired."
            error = {"code": "batch_expired", "message": message}
            errors.append(orjson.dumps({"custom_id": custom_id, "response": None, "error": error}))
        batch.body["request_counts"] = _counts(batch.content, len(output), len(errors))
        for kind, results in (("output", output), ("error", errors)):
            if results:
                file = self._keep(f"{batch.body['id']}_{kind}.jsonl", b"\n".join([*results, b""]))
                batch.body[f"{kind}_file_id"] = file["id"]
        batch.body["status"] = "expired" if fate == "batch_expired" else "completed"

    async def _work(
        self, line: Mapping[str, Any], output: list[bytes], errors: list[bytes]
    ) -> None:  # Any: JSON
        request_body = orjson.dumps(line["body"])
        self._finished[request_body] += 1
        fate = self._faults.batch_line(request_body, self._finished[request_body])
        if fate is not None:
            self.counts[fate] += 1
        if fate == "batch_lost":
            return
        answer = error_response(500, "injected fault: this request failed")
        if fate is None:
            answer = await self._answer(request_body)
        status, body = answer.status_code, orjson.Fragment(bytes(answer.body))
        response = {"status_code": status, "request_id": "", "body": body}
        result = orjson.dumps({"custom_id": line["custom_id"], "response": response, "error": None})
        (output if status == 200 else errors).append(result)

    def _keep(self, name: str, content: bytes) -> dict[str, Any]:  # Any: JSON
        number = f"file-{len(self._files) + 1:06d}"
        self._files[number] = content
        return {
            "id": number,
            "object": "file",
            "bytes": len(content),
            "created_at": 0,
            "filename": name,
            "purpose": "batch",
            "status": "processed",
        }


def _counts(content: bytes, completed: int, failed: int) -> dict[str, int]:
    return {"total": len(content.splitlines()), "completed": completed, "failed": failed}
