"""Ask through files instead of one call after the other: requests go out together, replies come
back later.

`Exchange` takes the place of the dispatcher. What has no answer yet is written into request files,
entered in the call record, and awaited: `Waiting` ends the command, and the next one reads what has
come back. A `BatchQueue` carries the files to a provider; without one a person does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BudgetSpent, ModelError, Waiting
from .budget import Reservation
from .call_record import FailedCall
from .counters import ASKERS, Call, ClientStats, Counters
from .dispatcher import ClientContext
from .endpoint import sent_body
from .exchange_folder import (
    README,
    Contents,
    ExchangeFolder,
    RequestFile,
    RequestLine,
    call_id,
    read_reply,
    shown,
)
from .ladder import changed, may_mean_a_parameter
from .model import Completion, Request
from .retries import given_up
from .shared_exchange import GROUP

if TYPE_CHECKING:
    from .batch_queue import BatchQueue

TRIES = 3
"""How often a request is written into a file again after replies that are errors."""


class Exchange:
    """The calls of one client, asked through the files of a folder.

    Args:
        folder: Where request and reply files are; several exchanges may share it.
        courier: Carries them; a person does unless given.
        price_share: What a token costs here, as a share of its price.
    """

    def __init__(
        self, folder: Path, *, courier: BatchQueue | None = None, price_share: float = 1.0
    ) -> None:
        self._folder = ExchangeFolder(folder)
        self._courier = courier
        self.price_share = price_share
        self._reservations: dict[bytes, Reservation] = {}
        """Of calls that were entered in the record and are awaited."""
        self._queue: dict[bytes, Call] = {}
        self._fruitless = 0
        """Exchanges in a row that brought no answer and nothing to mend."""
        self._written: set[Path] = set()
        """Request files that this exchange wrote itself."""
        self._budget_spent: BudgetSpent | None = None
        self._lock = threading.RLock()

    def ask(
        self,
        context: ClientContext,
        calls: Sequence[Call],
        counters: Counters,
        report: Callable[[str], None],
    ) -> BudgetSpent | None:
        """Give every call its outcome; return why some have none, where the budget does not cover
        them.

        Args:
            context: The client's.
            calls: Without outcomes, with their requests.
            counters: Of the `ask` that they belong to.
            report: Called while replies are awaited.

        Raises:
            Waiting: Replies are missing; what was asked is in the request files.
            InputError: The budget is in money and the price of the model is unknown.
        """
        while True:
            with self._lock:
                self._take_replies(context, calls, counters)
                missing = {call.key: call for call in calls if call.outcome is None}
                if not missing or self._budget_spent is not None:
                    return self._budget_spent
                self._queue |= missing
            group = GROUP.get()
            if group is not None:
                group[self] = partial(self._exchange, context, counters.stats, report)
                raise Waiting(f"waiting for {len(missing):,} replies", awaits={})
            self._exchange(context, counters.stats, report)

    def tidy(self, recorded: Callable[[Collection[str]], Collection[str]]) -> None:
        """Remove the files of a courier whose every call is recorded; what a person carries stays.

        Args:
            recorded: Returns which of some calls, by `call_id`, need not be asked again.
        """
        if self._courier is not None:
            contents = self._folder.read()
            calls = {call for file in contents.requests for call in file.calls}
            self._folder.remove(recorded(calls), self._courier.forget)

    # Replies.

    def _take_replies(
        self, context: ClientContext, calls: Sequence[Call], counters: Counters
    ) -> None:
        """Store the replies that the folder has for these calls; give up what only gets errors."""
        contents = self._folder.read()
        omitted, on_trial = contents.trials(context.model.name)
        if omitted - context.ladder.omitted:
            self._fruitless = 0
            context.ladder.add(omitted)
        self._adopt(context, calls, contents)
        out = contents.calls_out()
        stored: list[tuple[Call, Future[None]]] = []
        for call in calls:
            if call.outcome is not None:
                continue
            failures: dict[int, ModelError] = {}
            for reply in contents.replies.get(call_id(call.key), ()):
                try:
                    completion = read_reply(reply.body(), _request_of(call))
                except ModelError as error:
                    failures[reply.asking] = error
                    continue
                stored.append((call, self._keep(context, call, completion, counters)))
                break
            if call.outcome is None and call_id(call.key) not in out:
                call.outcome = _final_error(
                    failures, {asking for one, asking in on_trial if one == call_id(call.key)}
                )
                if call.outcome is not None:
                    # Freed first: the record takes an attempt that is open when its call fails for
                    # a charged one.
                    self._free(context, call)
                    failure = FailedCall(message=str(call.outcome), status=call.outcome.status)
                    stored.append((call, context.record.failed(call.key, failure)))
        for call, durable in stored:
            durable.result()
            counters.count(call)

    def _keep(
        self, context: ClientContext, call: Call, completion: Completion, counters: Counters
    ) -> Future[None]:
        request = _request_of(call)
        reservation = self._reservations.pop(call.key, None)
        if reservation is None:
            # The reply is here though this workspace never entered the request: another one wrote
            # the request file.
            reservation = context.hold(request)
            context.enter(call.key, reservation)
        omitted = context.ladder.omitted
        call.outcome = context.settle(request, completion, reservation, omitted, counters)
        self._fruitless = 0
        return context.keep(call.key, call.outcome, request)

    def _adopt(self, context: ClientContext, calls: Sequence[Call], contents: Contents) -> None:
        """Take over what earlier sessions entered in the record for these calls and wrote into
        files.
        """
        written = {call for file in contents.requests for call in file.calls}
        awaited = [call.key for call in calls if call.key not in self._reservations]
        keys = [key for key in awaited if call_id(key) in written]
        for key, attempt in context.record.adopt(keys).items() if keys else ():
            self._reservations[key] = context.budget.hold(
                cost=attempt.reserved_cost, tokens=attempt.reserved_tokens, counted=attempt.own
            )

    # Requests.

    def _exchange(
        self, context: ClientContext, stats: ClientStats, report: Callable[[str], None]
    ) -> None:
        """Write what is queued into a request file, and wait for replies."""
        with self._lock:
            queue, self._queue = self._queue, {}
            contents = self._write_requests(context, list(queue.values()), stats)
            if self._budget_spent is not None:
                return
            names = {call_id(key): _request_of(call).purpose for key, call in queue.items()}
            awaited = [file for file in contents.open_files() if names.keys() & file.calls.keys()]
        if not awaited:
            raise Waiting(
                "the rest of the budget is held by requests that another model is to answer",
                awaits={},
            )
        if self._courier is not None:
            try:
                self._courier.carry(awaited, report)
            except Waiting as error:
                error.args = ("; ".join([str(error), *stats.notes]),)
                raise
        else:
            raise self._waiting(awaited, names, contents.notes)

    def _write_requests(
        self, context: ClientContext, queue: Sequence[Call], stats: ClientStats
    ) -> Contents:
        """Write the calls that no open request file has, as far as the budget reaches."""
        contents = self._folder.read()
        if self._courier is not None:
            contents = self._set_aside(self._courier, context, queue, contents, stats)
        out = contents.calls_out()
        new = [call for call in queue if call_id(call.key) not in out]
        if new:
            self._count_exchange()
        reserved: dict[bytes, Reservation] = {}
        lines: list[RequestLine] = []
        for call in new:
            self._free(context, call)
            try:
                reservation = context.reserve(_request_of(call))
            except BudgetSpent as error:
                # Replies that are still out may cost less than is reserved for them.
                if not reserved and len(new) == len(queue):
                    self._budget_spent = error
                break
            if reservation is None:
                break
            reserved[call.key] = reservation
            name = call_id(call.key)
            lines.append((name, contents.askings(name) + 1, _body_of(call, context)))
        if lines:
            stats.attempts += len(lines)
            self._written.update(self._folder.write(context.model.name, lines))
            contents = self._folder.read()
        self._enter_all(context, queue, contents, reserved)
        return contents

    def _set_aside(
        self,
        courier: BatchQueue,
        context: ClientContext,
        queue: Sequence[Call],
        contents: Contents,
        stats: ClientStats,
    ) -> Contents:
        """Rename files that would be handed over now and ask anything else than these calls: they
        may be anybody's.

        What a killed command wrote asks just these, and is handed over as it is.
        """
        names = {call_id(call.key) for call in queue}
        bodies: dict[str, Mapping[str, Any]] = {}  # Any: JSON
        for file in contents.open_files():
            if file.path in self._written or courier.carries(file) or not names & file.calls.keys():
                continue
            bodies = bodies or {call_id(call.key): _body_of(call, context) for call in queue}
            if self._folder.asks(file, bodies):
                continue
            aside = file.path.replace(file.path.with_name(f".{file.path.name}.aside"))
            stats.notes[
                f"{shown(file.path)} has other requests than this command's, and nobody had them"
                f" yet: it is {shown(aside.name)} now, and the requests were written anew"
            ] = None
            contents = self._folder.read()
        return contents

    def _enter_all(
        self,
        context: ClientContext,
        queue: Sequence[Call],
        contents: Contents,
        reserved: Mapping[bytes, Reservation],
    ) -> None:
        """Enter in the record what stands in request files, before anybody carries them away.

        After the files are written: what a crash keeps from being entered here, the next session
        finds in them.
        """
        out = contents.calls_out()
        durable: list[Future[None]] = []
        for call in queue:
            reservation = reserved.get(call.key)
            if reservation is None:
                if call.key in self._reservations or call_id(call.key) not in out:
                    continue
                reservation = context.hold(_request_of(call))
            self._reservations[call.key] = reservation
            durable.append(context.enter(call.key, reservation))
        for future in durable:
            future.result()

    def _count_exchange(self) -> None:
        self._fruitless += 1
        if self._fruitless <= TRIES:
            return
        raise ModelError(
            f"requests came back without any answer {TRIES} times in a row, as from a batch that"
            " expires",
            hint="the same command, or `runs resume`, asks once more; what was answered is kept",
        )

    def _free(self, context: ClientContext, call: Call) -> None:
        """Settle an attempt that came back without an answer: a batch bills what it answers."""
        reservation = self._reservations.pop(call.key, None)
        if reservation is not None:
            context.budget.release(reservation)
            context.record.not_charged(call.key).result()

    def _waiting(
        self, awaited: Sequence[RequestFile], names: Mapping[str, str], notes: Sequence[str]
    ) -> Waiting:
        folder = self._folder.path
        ours = {file.path.name: names.keys() & file.calls.keys() for file in awaited}
        counts = {file: len(calls) for file, calls in ours.items()}
        total = sum(counts.values())
        askers = {ASKERS[names[name]] for calls in ours.values() for name in calls}
        message = (
            f"waiting for {total:,} {'reply' if total == 1 else 'replies'} for"
            f" {' and '.join(sorted(askers))}: {', '.join(map(shown, counts))} in {shown(folder)}"
        )
        if notes:
            message += f" ({'; '.join(notes)})"
        files = [{"path": str(folder / name), "requests": count} for name, count in counts.items()]
        awaits = {"via": "files", "directory": str(folder), "requests": total, "files": files}
        return Waiting(
            message,
            awaits={**awaits, "notes": list(notes)},
            hint=(
                f"answer them as {shown(folder / README)} says, and put the reply files into"
                f" {shown(folder)}; the same command, or `runs resume`, goes on then"
            ),
        )


def _request_of(call: Call) -> Request:
    assert call.request is not None, "the client hands over calls with their requests"
    return call.request


def _body_of(call: Call, context: ClientContext) -> dict[str, Any]:  # Any: JSON
    """Return what is sent for a call, as far as the endpoint is known to take it."""
    omitted = context.ladder.omitted
    return sent_body(context.model.name, changed(_request_of(call), omitted), omitted)


def _final_error(
    failures: Mapping[int, ModelError], on_trial: Collection[int]
) -> ModelError | None:
    """Return the error that a request ends with; None where it is to be asked again.

    Args:
        failures: By number of asking.
        on_trial: The askings that refuse what is left out from then on.
    """
    # Parameters are refused one by one, and asking again without one is not a retry.
    if not failures or max(failures) in on_trial:
        return None
    last = failures[max(failures)]
    answered = [
        error
        for error in failures.values()
        if error.status is not None and not may_mean_a_parameter(error)
    ]
    if not last.retryable and not last.fatal:
        return given_up(last, len(answered))
    # An expired batch has no status and says nothing about a request.
    return given_up(last, len(answered)) if len(answered) >= TRIES else None
