"""Traces: a span for a run, one for each of its steps, and one for each try of a call to a model.

They are off unless the environment asks for them (`TraceSettings`). Then they go to the user's own
OpenTelemetry collector, into a file of JSON lines, or both. Spans of calls have the names of
OpenTelemetry's conventions for generative AI. Keys and headers are in none; texts of requests and
replies are only where the user asks for them.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast
from urllib.parse import urlsplit

import orjson

from ...judges import InputError, Model, ModelError
from ...judges.models import Completion, Request
from ...optimize.journal import Event
from ...runs.config import TraceSettings
from ...runs.run_trace import RunTrace

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.trace import Span, Tracer

_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "api.mistral.ai": "mistral_ai",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
}
"""Hosts whose provider has a name in the conventions; another is named by its host."""


WAITING = 65_536
"""Spans that may wait for the collector; what comes beyond them is dropped, and the run goes on."""


@contextmanager
def trace_run(settings: TraceSettings, run_id: str, kind: str) -> Generator[RunTrace]:
    """Record a run from here to the end of the block.

    Args:
        settings: Where spans go; at least to one place.
        kind: Of the run, such as `bench`.

    Raises:
        InputError: OpenTelemetry is not installed, or the file cannot be written.
    """
    with nullcontext() if settings.log is None else _open_log(settings.log) as log:
        provider = _provider(settings, log)
        trace = _Trace(provider.get_tracer("judgewright"), run_id, kind, texts=settings.texts)
        try:
            yield trace
        except BaseException as error:
            trace.end(error)
            raise
        else:
            trace.end(None)
        finally:
            # Sends what is left; what a collector does not take within its time limit is lost, and
            # the run is not.
            provider.shutdown()


class _Trace(RunTrace):
    """A run's span is the parent of its steps', and the open step's is the parent of the calls'."""

    def __init__(self, tracer: Tracer, run_id: str, kind: str, *, texts: bool) -> None:
        self._tracer = tracer
        self._texts = texts
        about = {"judgewright.run.id": run_id, "judgewright.run.kind": kind}
        self._run = tracer.start_span(f"judgewright {kind}", attributes=about)
        self._step: Span = self._start_step()

    def model(self, model: Model) -> Model:
        return cast("Model", _TracedModel(model, self, texts=self._texts))

    def step(self, event: Event) -> None:
        # What a step was is known when it ends. Numbers are its result; a text could be a row's.
        figures = {
            f"judgewright.{name}": value
            for name, value in event.payload.items()
            if isinstance(value, bool | int | float)
        }
        self._step.update_name(event.kind)
        self._step.set_attributes({"judgewright.event": event.seq, **figures})
        self._step.end()
        self._step = self._start_step()

    def end(self, error: BaseException | None) -> None:
        """End what is open."""
        for span in (self._step, self._run):
            if error is not None:
                _set_error(span, error)
            span.end()

    def call(self, model: Model, request: Request) -> Span:
        """Start the span of one try."""
        from opentelemetry.trace import SpanKind, set_span_in_context

        return self._tracer.start_span(
            f"chat {model.name}",
            context=set_span_in_context(self._step),
            kind=SpanKind.CLIENT,
            attributes=_asked(model, request),
        )

    def _start_step(self) -> Span:
        from opentelemetry.trace import set_span_in_context

        return self._tracer.start_span("last step", context=set_span_in_context(self._run))


class _TracedModel:
    """A model that records a span for each try, and is the model otherwise."""

    def __init__(self, model: Model, trace: _Trace, *, texts: bool) -> None:
        self._model = model
        self._trace = trace
        self._texts = texts

    def __getattr__(self, name: str) -> Any:  # Any: whatever the model has
        return getattr(self._model, name)

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        span = self._trace.call(self._model, request)
        try:
            completion = await self._model.complete(
                request, unsupported_parameters=unsupported_parameters
            )
        except BaseException as error:
            _set_error(span, error)
            raise
        else:
            span.set_attributes(_answered(completion))
            if self._texts:
                span.set_attributes(_texts(request, completion))
            return completion
        finally:
            span.end()


def _asked(model: Model, request: Request) -> dict[str, str | int | float]:
    url = urlsplit(model.endpoint)
    attributes: dict[str, str | int | float | None] = {
        "gen_ai.operation.name": "chat",
        # The simulated model in this process has no host.
        "gen_ai.provider.name": _PROVIDERS.get(
            url.hostname or "", url.hostname or "judgewright.simulated"
        ),
        "gen_ai.request.model": model.name,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.token_limit,
        "gen_ai.request.seed": request.repeat,
        "judgewright.purpose": request.purpose,
        "judgewright.simulated": model.simulated,
        "server.address": url.hostname,
        "server.port": url.port,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _answered(completion: Completion) -> dict[str, Any]:  # Any: OpenTelemetry's attribute values
    answered = {
        "gen_ai.response.model": completion.model_returned or None,
        "gen_ai.response.finish_reasons": [completion.finish_reason],
        "gen_ai.usage.input_tokens": completion.tokens_in,
        "gen_ai.usage.output_tokens": completion.tokens_out,
        "gen_ai.usage.cache_read.input_tokens": completion.tokens_cached or None,
        "gen_ai.usage.reasoning.output_tokens": completion.reasoning_tokens,
    }
    return {name: value for name, value in answered.items() if value is not None}


def _texts(request: Request, completion: Completion) -> dict[str, str]:
    messages = [_message(message.role, message.content) for message in request.messages]
    replies = [
        {**_message("assistant", completion.text), "finish_reason": completion.finish_reason}
    ]
    return {
        "gen_ai.input.messages": orjson.dumps(messages).decode(),
        "gen_ai.output.messages": orjson.dumps(replies).decode(),
    }


def _message(role: str, text: str) -> dict[str, Any]:  # Any: JSON
    # A text may hold half of a character pair, which UTF-8 cannot say.
    return {
        "role": role,
        "parts": [{"type": "text", "content": text.encode("utf-8", "replace").decode()}],
    }


def _set_error(span: Span, error: BaseException) -> None:
    """Mark a span as failed; an error's message could quote a row, so that its kind alone is
    told.
    """
    from opentelemetry.trace import StatusCode

    status = error.status if isinstance(error, ModelError) else None
    span.set_attribute("error.type", str(status) if status is not None else type(error).__name__)
    if status is not None:
        span.set_attribute("http.response.status_code", status)
    span.set_status(StatusCode.ERROR)


def _provider(settings: TraceSettings, log: TextIO | None) -> TracerProvider:
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import (
            BatchSpanProcessor,
            ConsoleSpanExporter,
            SimpleSpanProcessor,
        )
    except ImportError as error:
        raise InputError(
            "traces need OpenTelemetry, which is not installed",
            hint=(
                "pip install 'judgewright[tracing]', or unset JUDGEWRIGHT_TRACE and JUDGEWRIGHT_LOG"
            ),
        ) from error
    provider = TracerProvider(
        resource=Resource.create({"service.name": "judgewright"}), shutdown_on_exit=False
    )
    if settings.otlp:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        # Address, headers and certificates are OpenTelemetry's own variables, OTEL_EXPORTER_OTLP_*.
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), max_queue_size=WAITING))
    if log is not None:
        provider.add_span_processor(
            SimpleSpanProcessor(ConsoleSpanExporter(out=log, formatter=_line))
        )
    return provider


def _open_log(path: Path) -> TextIO:
    """Open a file to add lines to, which its owner alone can read."""
    try:
        return open(
            path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)
        )
    except OSError as error:
        raise InputError(f"JUDGEWRIGHT_LOG: cannot write {path}: {error.strerror}") from error


def _line(span: ReadableSpan) -> str:
    """Return a span as a line of the log."""
    started, ended = span.start_time or 0, span.end_time or 0
    context, parent = span.get_span_context(), span.parent
    line = {
        "time": datetime.fromtimestamp(started / 1e9, UTC).isoformat(timespec="milliseconds"),
        "seconds": round((ended - started) / 1e9, 4),
        "name": span.name,
        "ok": span.status.is_ok or span.status.is_unset,
        "trace": None if context is None else f"{context.trace_id:032x}",
        "span": None if context is None else f"{context.span_id:016x}",
        "parent": None if parent is None else f"{parent.span_id:016x}",
        **(span.attributes or {}),
    }
    return orjson.dumps(line).decode() + "\n"
