"""Traces of runs: sent to a real HTTP receiver in OpenTelemetry's own format, and written to a
file.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from judgewright.runs.demo.rows import write_demo_rows

from ...runs.providers import Provider, serving
from ...runs.run_command import run

KEY = "sk-never-in-a-span"


@dataclass
class Collector:
    """What an OpenTelemetry collector was sent."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)

    def spans(self) -> list[Span]:
        """Every span."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        scopes = [
            scope for one in requests for spans in one.resource_spans for scope in spans.scope_spans
        ]
        return [span for scope in scopes for span in scope.spans]


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    """Receive OTLP over HTTP."""
    collector = Collector()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            collector.headers.append(f"{self.path} {self.headers['x-team']}")
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Demo rows in a folder of their own, and a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEWRIGHT_API_KEY", KEY)
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=3)
    return path


def values(span: Span) -> dict[str, object]:
    """A span's attributes."""
    plain = {one.key: one.value for one in span.attributes}
    return {
        key: getattr(value, value.WhichOneof("value") or "string_value")
        for key, value in plain.items()
    }


def attribute_texts(span: Span) -> str:
    """All that a span says, as one text."""
    return f"{span.name} {span.status.message} {values(span)}"


def send_to(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn traces on."""
    monkeypatch.setenv("JUDGEWRIGHT_TRACE", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=judges")


def test_every_try_of_a_call_has_a_span_in_its_run(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many as the endpoint counted, refused ones too; no key, no header and no text of a row is
    in any.
    """
    with collecting() as collector, serving(Provider(refuses="temperature")) as provider:
        send_to(collector, monkeypatch)
        code, _, err = run(
            capsys, "bench", "groundedness", str(rows), "--model", f"small@{provider.url}"
        )
    assert code == 0, err
    assert set(collector.headers) == {"/v1/traces judges"}
    spans = collector.spans()
    tries = [span for span in spans if span.name == "chat small"]
    assert len(tries) == len(provider.seen)
    (of_run,) = [span for span in spans if span.name == "judgewright bench"]
    (step,) = [span for span in spans if span.parent_span_id == of_run.span_id]
    assert {span.parent_span_id for span in tries} == {step.span_id}
    assert {span.trace_id for span in spans} == {of_run.trace_id}
    refused = [span for span in tries if span.status.code]
    assert refused
    assert {values(span)["error.type"] for span in refused} == {"400"}
    answered = values(next(span for span in tries if not span.status.code))
    asked = {
        name: answered[f"gen_ai.{name}"]
        for name in ("operation.name", "provider.name", "request.model")
    }
    assert asked == {
        "operation.name": "chat",
        "provider.name": "127.0.0.1",
        "request.model": "small",
    }
    assert int(str(answered["gen_ai.usage.input_tokens"])) > 0
    assert f"http://{answered['server.address']}:{answered['server.port']}" == provider.origin
    told = " ".join(map(attribute_texts, spans))
    assert KEY not in told
    statement = json.loads(rows.read_text().splitlines()[0])["statement"]
    assert statement not in told


def test_texts_are_recorded_for_who_asks_and_keys_for_nobody(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log has a line for each span; its file is its owner's alone."""
    monkeypatch.setenv("JUDGEWRIGHT_LOG", "log.jsonl")
    monkeypatch.setenv("JUDGEWRIGHT_TRACE_TEXT", "1")
    with serving() as provider:
        code, _, err = run(
            capsys, "bench", "groundedness", str(rows), "--model", f"small@{provider.url}"
        )
    assert code == 0, err
    text = Path("log.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    calls = [line for line in lines if line["name"] == "chat small"]
    assert len(calls) == len(provider.seen)
    assert lines[-1]["judgewright.run.kind"] == "bench"
    messages = [message for call in calls for message in json.loads(call["gen_ai.input.messages"])]
    assert {message["role"] for message in messages} <= {"system", "user"}
    assert json.loads(calls[0]["gen_ai.output.messages"])[0]["parts"][0]["content"]
    statement = json.loads(rows.read_text().splitlines()[0])["statement"]
    assert any(statement in part["content"] for message in messages for part in message["parts"])
    assert KEY not in text
    assert Path("log.jsonl").stat().st_mode & 0o077 == 0


def test_steps_of_a_run_are_spans_under_its_own(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step has the name of the event that it ends with, and the event's figures."""
    monkeypatch.setenv("JUDGEWRIGHT_LOG", "log.jsonl")
    write_demo_rows(rows, documents=25)
    words = (
        "optimize",
        "groundedness",
        str(rows),
        "--model",
        "simulated",
        "--objective",
        "improve precision",
        "--target",
        "precision",
    )
    code, _, err = run(capsys, *words, "--steps", "1")
    assert code in (0, 1, 4), err
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    of_run = lines[-1]
    assert (of_run["name"], of_run["parent"]) == ("judgewright optimize", None)
    steps = [line for line in lines if line["parent"] == of_run["span"]]
    assert [line["name"] for line in steps][:5] == [
        "started",
        "split",
        "benchmark",
        "threshold",
        "slice",
    ]
    at = {line["span"] for line in steps}
    assert {line["parent"] for line in lines if line["name"].startswith("chat ")} <= at


def test_a_collector_that_fails_stops_nothing(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spans are lost, results are not."""
    words = ("bench", "groundedness", str(rows), "--model", "simulated", "--json", "--workspace")
    code, plain, _ = run(capsys, *words, "without")
    assert code == 0
    with collecting(status=400) as collector:
        send_to(collector, monkeypatch)
        code, traced, _ = run(capsys, *words, "with")
    assert code == 0
    assert collector.bodies
    assert json.loads(traced)["metrics"] == json.loads(plain)["metrics"]


def test_what_cannot_be_turned_on_is_said_before_a_run(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word that is not known, a file that cannot be written."""
    monkeypatch.setenv("JUDGEWRIGHT_TRACE", "jaeger")
    words = ("bench", "groundedness", str(rows), "--model", "simulated")
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "JUDGEWRIGHT_TRACE: 'jaeger' is not 'otlp'" in err
    monkeypatch.delenv("JUDGEWRIGHT_TRACE")
    monkeypatch.setenv("JUDGEWRIGHT_LOG", str(rows.parent / "nowhere" / "log.jsonl"))
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "JUDGEWRIGHT_LOG: cannot write" in err
