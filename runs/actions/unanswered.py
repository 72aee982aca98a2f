"""An endpoint that answers nothing ends a command: nothing is concluded from no answer at all."""

from __future__ import annotations

from collections.abc import Sequence

from ...judges import Answer, ModelError, Unscored, Verdict


def require_answers(answers: Sequence[Answer], *, of: str = "row") -> None:
    """Refuse to go on where the endpoint is why there is no verdict.

    Args:
        answers: Of everything that was asked.
        of: What was asked about.

    Raises:
        ModelError: There is none; the message says what the first request met.
    """
    lost = [answer for answer in answers if isinstance(answer, Unscored) and answer.reason == "endpoint"]
    if lost and not any(isinstance(answer, Verdict) for answer in answers):
        raise silent(lost[0].detail, of=of)


def silent(detail: str, *, of: str) -> ModelError:
    """Return the error for an endpoint that answered nothing."""
    return ModelError(
        f"the endpoint answered no {of}: {detail}",
        retryable=True,
        hint="see that the server runs and that its address is right; the same command goes on with what is left",
    )
