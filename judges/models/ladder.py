"""The ladder: which parameters of a request an endpoint takes, found by trial and not by its words.

An endpoint that refuses a request may mean a parameter of ours, whatever it says. The request is
then sent again with one step of `STEPS` after the other: a step that changes what the endpoint says
stays, one that does not is taken back. What is answered first is kept for all later requests, less
what turns out to have been innocent. The error's words only say which step is tried first. A
request that is refused without any of its parameters is itself at fault; so is one whose like was
answered before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import ModelError
from .model import Completion, Request

STEPS = (
    "json_schema",
    "response_format",
    "seed",
    "temperature",
    "logprobs",
    "max_tokens",
    "half_limit",
    "no_limit",
)
"""What is changed, in this order: a schema becomes `json_object`, then no form is asked for; a
parameter is left out; the limit of tokens goes under its other name, is halved, is left out."""
CHANGES: Mapping[str, str] = {
    "json_schema": "response_format json_schema (json_object is sent)",
    "max_tokens_name": "max_tokens (max_completion_tokens is sent)",
    "half_limit": "max_tokens as large (half is sent)",
}
"""In words, those of `Completion.dropped` that were sent otherwise and not left out."""
_MOST_TRIALS = 3
"""Trials that may end without an answer, before a refusal is no longer tried."""

_Shape = tuple[Any, ...]


class Ladder:
    """What is changed in the requests to one endpoint, and the trial that is under way.

    Args:
        omitted: What is known to be refused: parameters as `Model.complete` takes them, and steps.
        tries: Whether the model takes any of them; a decision model takes none.
    """

    def __init__(self, omitted: Iterable[str] = (), *, tries: bool = True) -> None:
        self.omitted = frozenset(omitted)
        """What is changed or left out now."""
        self._tries = tries
        self.climbing = False
        """Whether a trial is under way: only one request is to be sent at a time."""
        self._before = self.omitted
        self._steps: list[str] = []
        self._left: list[str] = []
        self._restoring: list[str] | None = None
        self._all = False
        self._first: tuple[Request, ModelError] | None = None
        self._last = ""
        self._answered: list[_Shape] = []
        self._fruitless: list[str] = []
        """What the endpoint said to requests that no step has helped."""

    def add(self, omitted: Iterable[str]) -> None:
        """Take over what others have found."""
        self.omitted |= frozenset(omitted)
        self._before |= frozenset(omitted)

    def refuse(
        self, request: Request, without: frozenset[str], error: ModelError
    ) -> ModelError | None:
        """Hear that a request was refused; return its error, or None where it is to be sent again,
        changed.

        Args:
            request: As it was asked.
            without: What it was sent without: `omitted` at the time.
            error: What came back.
        """
        if not self._tries or error.fatal or not may_mean_a_parameter(error):
            return error
        if without != self.omitted:
            return None  # it was sent before the last change
        if self._restoring is not None:
            self._restore(taken=False)
            return None
        words = "".join(c for c in str(error) if not c.isdigit())
        if not self.climbing:
            if _shape(request, without) in self._answered or words in self._fruitless:
                return error  # the row's own, or none that a change mends
            if len(self._fruitless) >= _MOST_TRIALS and not self._answered:
                return error
            self._begin(request, error)
        elif words == self._last and not self._all:
            self._steps.pop()
        self._last = words
        if error.refused_parameter is not None:
            first = _steps_of(error.refused_parameter)
            self._left.sort(key=lambda step: step not in first)
        if self._left:
            self._steps.append(self._left.pop(0))
        else:
            everything, tried = _applying(request, self._before), self.omitted
            self._all, self._steps = True, everything
            if self._change() == tried:
                self._end(self._before)
                self._fruitless.append(words)
                return (
                    self._first[1]
                    if self._first is not None and self._first[0] is request
                    else error
                )
        self.omitted = self._change()
        return None

    def accept(self, request: Request, without: frozenset[str]) -> None:
        """Hear that a request was answered."""
        shape = _shape(request, without)
        if shape not in self._answered:
            self._answered.append(shape)
        if (
            self.climbing
            and self._first is not None
            and shape == _shape(self._first[0], self._before)
        ):
            self._end(
                self._before
            )  # its like is answered as it was asked, so the refusal was its own
        if not self.climbing or without != self.omitted:
            return
        applying = _applying(request, frozenset())
        if self._restoring is not None:
            self._restore(taken=self._restoring[0] in applying)
        elif not self._all and self._steps[-1] not in applying:
            self._end(self._before)  # it says nothing about the step; who needs it begins anew
        else:
            self._restoring = self._steps[:] if self._all else self._steps[:-1]
            self._next_restoring()

    def _begin(self, request: Request, error: ModelError) -> None:
        self.climbing, self._all, self._restoring = True, False, None
        self._before, self._first, self._steps = self.omitted, (request, error), []
        self._left = _applying(request, self.omitted)

    def _end(self, omitted: frozenset[str]) -> None:
        self.omitted, self.climbing, self._restoring = omitted, False, None

    def _change(self) -> frozenset[str]:
        return self._before.union(*(_OMITS.get(step, (step,)) for step in self._steps))

    def _restore(self, *, taken: bool) -> None:
        """Leave the step out that was just tried without, or put it back."""
        assert self._restoring is not None
        step = self._restoring.pop(0)
        if not taken:
            self._steps.append(step)
        self._next_restoring()

    def _next_restoring(self) -> None:
        """Have the next request sent without one of the steps; at least one of them is needed."""
        needed = self._change()
        while self._restoring and len(self._steps) > 1:
            self._steps.remove(self._restoring[0])
            self.omitted = self._change()
            if self.omitted != needed:
                return
            self._restoring.pop(0)  # another step includes it
        self._end(self._change())


_OMITS: Mapping[str, tuple[str, ...]] = {
    "response_format": ("json_schema", "response_format"),
    "no_limit": ("max_tokens", "max_completion_tokens"),
}


def next_step(omitted: frozenset[str], named: str) -> frozenset[str]:
    """Return what is left out next where requests go out together and each trial may take a day: no
    step is taken back.

    Args:
        omitted: What was left out before.
        named: The parameter that the errors name; empty where they name none.
    """
    for step in _steps_of(named) if named else ("response_format",):
        change = omitted.union(_OMITS.get(step, (step,)))
        if change != omitted:
            return change
    return omitted if named else omitted.union(*(_OMITS.get(step, (step,)) for step in STEPS[2:-1]))


def may_mean_a_parameter(error: ModelError) -> bool:
    """Return whether an error may be about a parameter: a refusal of the request, or one that names
    a parameter.
    """
    return error.status in {400, 422, 501} or error.refused_parameter is not None


def changed(request: Request, omitted: frozenset[str]) -> Request:
    """Return a request with those steps taken that `Model.complete` does not take itself."""
    form = request.response_format
    if "json_schema" in omitted and form is not None and form.get("type") == "json_schema":
        request = replace(request, response_format={"type": "json_object"})
    if "half_limit" in omitted and (limit := request.token_limit) is not None:
        request = replace(request, max_tokens=max(1, limit // 2))
    return request


def dropped_parameters(request: Request, omitted: frozenset[str]) -> set[str]:
    """Return what this request asked for and did not get, as `Completion.dropped` has it."""
    body = request.body()
    dropped = set(body) & omitted
    if (
        changed(request, omitted).response_format is not request.response_format
        and "response_format" not in omitted
    ):
        dropped.add("json_schema")
    if "max_tokens" in dropped and "max_completion_tokens" not in omitted:
        dropped.remove("max_tokens")
        dropped.add("max_tokens_name")
    if "half_limit" in omitted and "max_tokens" in body and "max_tokens" not in dropped:
        dropped.add("half_limit")
    return dropped


def remembered(calls: Iterable[tuple[Request, Completion]]) -> frozenset[str]:
    """Return what earlier calls, newest first, were sent without; of each parameter the newest that
    had it decides.
    """
    omitted: set[str] = set()
    seen: set[str] = set()
    for request, completion in calls:
        new_steps = set(_applying(request, frozenset())) - seen
        seen |= new_steps
        for name in completion.dropped:
            if name == "max_tokens_name" and "max_tokens" in new_steps:
                omitted.add("max_tokens")
            elif name == "max_tokens" and "no_limit" in new_steps:
                omitted.update(_OMITS["no_limit"])
            elif name in new_steps:
                omitted.update(_OMITS.get(name, (name,)))
    return frozenset(omitted)


def _applying(request: Request, omitted: frozenset[str]) -> list[str]:
    """Return the steps that would change a request which is sent without something already."""
    body, form = request.body(), request.response_format
    steps: list[str] = []
    for step in STEPS:
        parameter = {
            "json_schema": "response_format",
            "half_limit": "max_tokens",
            "no_limit": "max_tokens",
        }.get(step)
        schema = step != "json_schema" or (form is not None and form.get("type") == "json_schema")
        if (
            (parameter or step) in body
            and schema
            and not omitted.issuperset(_OMITS.get(step, (step,)))
        ):
            steps.append(step)
    if "response_format" in omitted:
        steps = [step for step in steps if step != "json_schema"]
    return steps


def _steps_of(parameter: str) -> tuple[str, ...]:
    if parameter == "response_format":
        return STEPS[:2]
    return STEPS[5:] if parameter in ("max_tokens", "max_completion_tokens") else (parameter,)


def _shape(request: Request, without: frozenset[str]) -> _Shape:
    """Return what of a request an endpoint may refuse; what was answered once is not refused
    another time.
    """
    limit, form = request.token_limit, request.response_format
    return without, request.temperature, limit, request.top_logprobs, form, request.extra_body
