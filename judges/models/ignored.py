"""Parameters that an endpoint ignores.

A refused parameter is an error of the endpoint, and is left out from then on
(`Completion.dropped`); an ignored one is silent.
"""

from __future__ import annotations

from .model import Completion, Request

_ALLOWANCE = 4
"""Tokens over the limit that some endpoints count for the end of a reply."""


def ignored_parameters(request: Request, completion: Completion) -> tuple[str, ...]:
    """Return the parameters that a reply shows to be ignored, such as `response_format`.

    Args:
        request: As it was sent.
        completion: The reply to it.
    """
    ignored: list[str] = []
    dropped, limit = completion.dropped, request.token_limit
    if request.response_format is not None and "response_format" not in dropped:
        text = completion.text.strip()
        # One that was cut or refused is no object either; thoughts before the object do not keep to
        # the schema.
        if completion.finish_reason == "stop" and not (text.startswith("{") and text.endswith("}")):
            ignored.append("response_format")
    if request.top_logprobs is not None and "logprobs" not in dropped and not completion.logprobs:
        ignored.append("logprobs")
    reported = completion.extra.get("tokens") != "estimated"
    if (
        limit is not None
        and "max_tokens" not in dropped
        and reported
        and completion.tokens_out > limit + _ALLOWANCE
    ):
        ignored.append("max_tokens")
    return tuple(ignored)
