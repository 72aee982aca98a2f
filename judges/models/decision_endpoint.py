"""A decision model behind one of three interfaces; see `question.py` and `decision_wire.py`."""

from __future__ import annotations

from asyncio import Task, create_task, shield
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..errors import ModelError
from .decision_wire import PATHS, read_answers, wire_body
from .endpoint import Endpoint
from .model import Completion, Message, Request
from .question import DecisionApi, read_request
from .wire import read_answering_fault, read_fault

_MOST_TOGETHER = 64
"""Questions of one request that every service takes."""


class DecisionEndpoint(Endpoint):
    """Implements `model.Model` for requests of `question_request`.

    Args:
        api: Which body the endpoint takes.
        path: What stands behind the base URL, where it is not the usual path of the interface.
        address: As `Endpoint` takes it.
    """

    def __init__(
        self,
        *,
        api: DecisionApi,
        path: str | None = None,
        **address: Any,  # Any: as `Endpoint` types them
    ) -> None:
        super().__init__(path=PATHS[api] if path is None else path, **address)
        self._api: DecisionApi = api
        self._hint = (
            f"check the model's name, base URL, path ({self._at.path}) and api, {api}: OpenAI takes"
            " decisions, System One (Jev, Perplexity, Cloudflare, vLLM) systemone, SGLang sglang"
        )
        self._together: tuple[str, ...] = ()
        self._posts: dict[tuple[str, int], tuple[list[str], Task[list[Completion]]]] = {}

    @contextmanager
    def together(self, questions: Sequence[Message]) -> Iterator[None]:
        """Send these questions about one state as one request while the context lasts: whichever is
        asked first takes the others along, and they take their answers from its reply.
        """
        self._together = tuple(dict.fromkeys(message.content for message in questions))
        try:
            yield
        finally:
            self._together, self._posts = (), {}

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        self._at.require_key(f"{self._name} at ")
        read_request(request)
        own, state = (message.content for message in request.messages)
        if own not in self._together:
            return (await self._ask(request, [own]))[0]
        key = state, request.repeat
        asked, post = self._posts.get(key, ((), None))
        if post is None or own not in asked:
            asked = [own, *(other for other in self._together if other != own)][:_MOST_TOGETHER]
            post = create_task(self._ask(request, asked))
            self._posts[key] = asked, post
        try:
            return (await shield(post))[asked.index(own)]
        except ModelError as error:
            if self._posts.get(key) == (asked, post):
                del self._posts[key]  # the next try sends it anew
            if error.retryable or error.fatal:
                raise
        return (await self._ask(request, [own]))[0]

    async def _ask(self, request: Request, asked: Sequence[str]) -> list[Completion]:
        """Send questions about the state of a request; an answer for each."""
        messages = [(Message("system", one), request.messages[1]) for one in asked]
        pairs = [read_request(replace(request, messages=pair)) for pair in messages]
        questions, state = [question for question, _ in pairs], pairs[0][1]
        body = {**request.extra_body, **wire_body(self._api, self._name, questions, state)}
        answer = await self._try(body)
        if isinstance(answer, ModelError):
            raise answer
        try:
            if 200 <= answer.status < 300:
                return read_answers(self._api, answer.content, questions, state)
            # Of several questions one may be refused; each is then sent alone.
            alone = 400 <= answer.status < 500 and len(questions) == 1
            if alone and (reply := read_answering_fault(answer.content, request)):
                return [reply]
            raise read_fault(
                answer.status,
                answer.content,
                answer.headers,
                sent=request.extra_body,
                base_url=self._at.base_url,
                path=self._at.path,
                key_hint=self._at.key_hint,
            )
        except ModelError as error:
            # So answers who takes another body.
            if error.status == 404 or (
                error.status in {200, 400, 405, 422, 502} and not error.hint
            ):
                error.hint = self._hint
            raise
