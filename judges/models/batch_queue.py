"""Carry request files to a provider's batch queue: upload, create, look, fetch.

A file's way is kept beside it, in `.NAME.batch.json`, and each step is written there before the
next is taken:

| step       | what is known                                                                       |
|------------|-------------------------------------------------------------------------------------|
| (no file)  | nothing was sent; an upload that a crash cut off costs nothing and is made again    |
| `uploaded` | the provider has the file                                                           |
| `creating` | a batch may exist: it is looked for by its token before another is made        |
| `created`  | the batch's id                                                                      |

The results come as one reply file, so that a crash leaves all of them or none. From then on the
folder has replies and the file is on its way no longer.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, ClassVar, Literal, TypeVar

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from ..errors import InputError, ModelError, Waiting, explain_yaml_error, shortened
from ..files.small_file import read_small
from ..files.write_beside import write_beside
from .address import Address
from .exchange_folder import URL, RequestFile, answers_any, shown
from .openai_transport import sdk_headers
from .response_body import ERROR_SECONDS, MAX_ERROR, sdk_errors
from .retries import free_of_charge
from .wire import read_fault

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)

PRICE_SHARE = 0.5
"""What a token costs in a batch, as a share of its price."""
TOKEN = "judgewright"  # noqa: S105 - the name of a field of metadata
_TRIES = 5
_FIRST_LOOK, _LONGEST = 10.0, 60.0
"""Seconds between looks at a batch: at first, and after a while."""
_GRACE = 10.0
"""Seconds after which a batch that was created is in the list of batches."""
_PAGES = 50
"""Pages of a hundred batches in which one is looked for."""
_FINAL = ("completed", "expired", "cancelled")
_MOST_BODY = 10_000_000
"""Bytes of what is read beside results."""
_MOST_BYTES = 4_000_000_000
"""Bytes of results that are fetched; 50,000 replies of 80 kB."""
_LARGEST_WAY = 10_000
"""Bytes of what is kept beside a request file."""
_NO_QUEUE = "this endpoint may have no batch queue: ask it live, or through --via files"

# Ids and statuses are shown, and an id becomes part of an address: no character may mean something
# there.
_WORDS = "[A-Za-z0-9_:=+~@-]+([./][A-Za-z0-9_:=+~@-]+)*"
_Id = Annotated[str, StringConstraints(pattern=f"^{_WORDS}$", max_length=500)]
_IdOrEmpty = Annotated[str, StringConstraints(pattern=f"^({_WORDS})?$", max_length=500)]
_Status = Annotated[str, StringConstraints(pattern="^[A-Za-z_-]{1,40}$")]
_Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class _Body(BaseModel):
    """What we read of an answer; further fields are the provider's own."""

    model_config = ConfigDict(strict=True)


class _Created(_Body):
    id: _Id


class _Counts(_Body):
    completed: _Count | None = None
    failed: _Count | None = None


class _Batch(_Body):
    status: _Status
    request_counts: _Counts | None = None
    output_file_id: _IdOrEmpty | None = None
    error_file_id: _IdOrEmpty | None = None
    errors: Any = None


class _Listed(_Created):
    metadata: Any = None


class _Page(_Body):
    data: list[_Listed]
    has_more: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How far one request file has come."""

    __pydantic_config__: ClassVar = ConfigDict(strict=True)

    token: str
    step: Literal["uploaded", "creating", "created"]
    since: FiniteFloat
    """When the step was written, in seconds of the wall clock."""
    input_file: _Id
    batch: _IdOrEmpty = ""
    status: _Status = "validating"
    completed: _Count = 0
    failed: _Count = 0


class BatchQueue:
    """Carries request files to the batch queue of an OpenAI-compatible endpoint, for an `Exchange`.

    Args:
        wait: Whether to wait for batches; else `carry` hands them over and raises `Waiting`.
        sleep: Waits, for tests.
        address: Fields of `Address`; the time limit is that of one HTTP request.
    """

    def __init__(
        self,
        *,
        wait: bool = True,
        sleep: Callable[[float], None] = time.sleep,
        **address: Any,  # Any: as `Address` types them
    ) -> None:
        self._at = Address(**address)
        self._wait = wait
        self._sleep = sleep

    def carries(self, file: RequestFile) -> bool:
        """Return whether a file was handed over, or may have been."""
        return os.path.lexists(_way_path(file.path))

    def forget(self, file: RequestFile) -> None:
        """Drop what is kept beside a file, which nobody needs any more."""
        _way_path(file.path).unlink(missing_ok=True)

    def carry(self, files: Sequence[RequestFile], report: Callable[[str], None]) -> None:
        """Hand over what is not yet on its way, and return once one of the files has its replies.

        Args:
            files: Request files without replies.
            report: Called with how far they have come, now and then.

        Raises:
            Waiting: Nobody wants to wait for them now.
            ModelError: They are refused.
        """
        self._at.require_key()
        ways: dict[Path, _Way] = {}
        pause = _FIRST_LOOK
        try:
            with self._connect() as http:
                for file in files:
                    ways[file.path] = self._hand_over(http, file.path)
                while not self._fetch(http, files, ways):
                    if not self._wait:
                        raise self._waiting(files, ways)
                    report(
                        f"{_shown(ways.values())}; next look in {pause:.0f} s, Ctrl-C ends and"
                        " resumes later"
                    )
                    self._sleep(pause)
                    pause = min(_LONGEST, 1.5 * pause)
        except KeyboardInterrupt:
            raise self._waiting(files, ways) from None

    # From the file to the batch.

    def _hand_over(self, http: Any, path: Path) -> _Way:  # Any: as `_connect` yields it
        way = _read_way(path)
        if way is None:
            content = {"file": (path.name, path.read_bytes())}
            uploaded = self._patiently(
                lambda: self._read(
                    http, _Created, "POST", "/files", files=content, data={"purpose": "batch"}
                )
            )
            token = secrets.token_hex(16)
            way = _Way(token=token, step="uploaded", since=time.time(), input_file=uploaded.id)
            _write_way(path, way)
        return way if way.batch else self._patiently(lambda: self._create(http, path))

    def _create(self, http: Any, path: Path) -> _Way:  # Any: as `_connect` yields it
        """Create the batch once, whatever fell over between asking for it and hearing its id."""
        way = _read_way(path)
        assert way is not None
        batch = self._find(http, way) if way.step == "creating" else None
        if batch is None:
            way = _write_way(path, replace(way, step="creating", since=time.time()))
            wish = {
                "input_file_id": way.input_file,
                "endpoint": URL,
                "completion_window": "24h",
                "metadata": {TOKEN: way.token},
            }
            try:
                batch = self._read(http, _Created, "POST", "/batches", json=wish)
            except ModelError as error:
                if free_of_charge(error):
                    _write_way(path, replace(way, step="uploaded"))
                raise
        return _write_way(path, replace(way, step="created", batch=batch.id))

    def _find(self, http: Any, way: _Way) -> _Listed | None:
        """Return the batch with this way's token, if there is one."""
        # The clock may have been set back since.
        until = min(way.since, time.time()) + _GRACE
        while True:
            after: dict[str, str] = {}
            for _ in range(_PAGES):
                page = self._patiently(
                    lambda after=after: self._read(
                        http, _Page, "GET", "/batches", params={"limit": "100", **after}
                    )
                )
                for batch in page.data:
                    if isinstance(batch.metadata, dict) and batch.metadata.get(TOKEN) == way.token:
                        return batch
                if not page.has_more or not page.data:
                    break
                after = {"after": page.data[-1].id}
            seconds = until - time.time()
            if seconds <= 0:
                return None
            self._sleep(min(seconds, 1.0))

    # From the batch to the reply file.

    def _fetch(self, http: Any, files: Sequence[RequestFile], ways: dict[Path, _Way]) -> bool:
        """Look at every batch, fetch the results of those that are finished, and say whether any
        was.
        """
        fetched = False
        for file in files:
            way = ways[file.path]
            batch = self._patiently(
                lambda way=way: self._read(http, _Batch, "GET", f"/batches/{way.batch}")
            )
            counts = batch.request_counts or _Counts()
            ways[file.path] = replace(
                way, status=batch.status, completed=counts.completed or 0, failed=counts.failed or 0
            )
            if batch.status == "failed":
                # Nothing of it was worked on: the next command sends the file again.
                _way_path(file.path).unlink()
                reason = self._at.secret.scrub(_reason(batch.errors))
                raise ModelError(
                    f"the batch of {shown(file.path.name)} was refused: {reason}",
                    fatal=True,
                    hint=(
                        "once that is mended, the same command or `runs resume` hands the file over"
                        " again"
                    ),
                )
            if batch.status in _FINAL:
                self._fetch_results(http, file, batch)
                fetched = True
        return fetched

    def _fetch_results(self, http: Any, file: RequestFile, batch: _Batch) -> None:
        target = file.path.with_name(file.path.name.replace("requests", "replies", 1))
        draft = target.with_name(f".{target.name}.part")
        names = [name for name in (batch.output_file_id, batch.error_file_id) if name]
        # Not what lies there: it may be a link to another file.
        draft.unlink(missing_ok=True)
        with draft.open("xb") as results:
            for name in names:
                start = results.tell()
                self._patiently(
                    lambda name=name, start=start: self._download(http, name, results, start)
                )
                results.write(b"\n")
            results.flush()
            if not answers_any(draft, file):
                # Without any reply the file would count as still on its way, and be fetched for
                # ever.
                call, asking = next(iter(file.calls.items()))
                error = {
                    "code": "batch_expired",
                    "message": f"the batch is {batch.status} without results",
                }
                results.write(
                    orjson.dumps({"custom_id": f"jw-{call}-{asking}", "error": error}) + b"\n"
                )
            results.flush()
            os.fsync(results.fileno())
        draft.replace(target)

    def _download(
        self, http: Any, name: str, results: BinaryIO, start: int
    ) -> None:  # Any: httpx's
        results.seek(start)
        results.truncate()
        self._send(http, "GET", f"/files/{name}/content", results=results)

    # HTTP.

    @contextmanager
    def _connect(self) -> Iterator[Any]:  # Any: a client of the HTTP package under the SDK
        from openai import DefaultHttpxClient

        headers = sdk_headers(self._at) | {"Accept-Encoding": "identity"}
        # A redirect would carry rows to a host nobody named.
        with DefaultHttpxClient(
            timeout=self._at.timeout, follow_redirects=False, headers=headers
        ) as http:
            yield http

    def _read(
        self,
        http: Any,  # Any: as `_connect` yields it
        form: type[B],
        method: str,
        path: str,
        **content: Any,  # Any: as httpx takes it
    ) -> B:
        """Ask for a body of some form.

        Raises:
            ModelError: It is another one, or an error.
        """
        raw = self._send(http, method, path, **content)
        try:
            return form.model_validate_json(raw)
        except ValidationError as error:
            problem = explain_yaml_error(error, top_level="the answer")
            broken = error.errors()[0]["type"] == "json_invalid"
        raise ModelError(
            f"{self._at.base_url} does not answer as a batch queue does: {problem}",
            retryable=broken,
            fatal=not broken,
            hint=_NO_QUEUE,
        )

    def _send(
        self,
        http: Any,  # Any: as `_connect` yields it
        method: str,
        path: str,
        *,
        results: BinaryIO | None = None,
        **content: Any,  # Any: as httpx takes it
    ) -> bytes:
        """Send a request and return the body of its answer, or write it into a file of results."""
        fault: ModelError | None = None
        raw, status, headers = b"", 0, {}
        try:
            with http.stream(method, self._at.base_url + path, **content) as response:
                status = response.status_code
                headers = self._at.secret.scrub_headers(response.headers)
                chunks = self._at.secret.scrub_chunks(self._chunks(response, results is not None))
                if results is None or status >= 300:
                    raw = b"".join(chunks)
                else:
                    results.writelines(chunks)
        except sdk_errors() as error:
            reason = self._at.secret.scrub(f"{type(error).__name__}: {error}")
            fault = self._at.connection_fault(reason)
        if fault is None and status >= 300:
            fault = read_fault(status, raw, headers, sent=(), base_url=self._at.base_url)
            if status in (401, 403) and self._at.key_hint:
                fault.hint = self._at.key_hint
            elif status == 404:
                fault.hint = _NO_QUEUE
        # Raised here it does not carry the HTTP client's error as its context, and with it the key.
        if fault is not None:
            raise fault
        return raw

    def _chunks(self, response: Any, in_file: bool) -> Iterator[bytes]:  # Any: httpx's
        """Yield a body up to a limit; of an error its beginning will do."""
        url, is_error = self._at.base_url, response.status_code >= 300
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ModelError(f"the reply of {url} is packed, which was not asked for", fatal=True)
        most = _MOST_BYTES if in_file else _MOST_BODY
        seconds = math.inf if in_file else self._at.timeout
        if is_error:
            most, seconds = MAX_ERROR, ERROR_SECONDS
        size, until = 0, time.monotonic() + seconds
        for chunk in response.iter_raw():
            size += len(chunk)
            late = time.monotonic() > until
            if is_error and (size > most or late):
                return
            if size > most:
                raise ModelError(f"the reply of {url} is over {most:,} bytes", fatal=True)
            if late:
                message = f"the reply of {url} has no end after {seconds:g} s"
                raise ModelError(message, retryable=True)
            yield chunk

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask for something that may be asked for twice."""
        tries = 0
        while True:
            try:
                return ask()
            except ModelError as error:
                tries += 1
                if not error.retryable or tries == _TRIES:
                    raise
                self._sleep(error.retry_after or 2.0**tries)

    def _waiting(self, files: Sequence[RequestFile], ways: Mapping[Path, _Way]) -> Waiting:
        requests = sum(len(file.calls) for file in files)
        batches: list[dict[str, Any]] = []  # Any: JSON
        for file in files:
            batches.append({"file": str(file.path), "requests": len(file.calls)})
            if (way := ways.get(file.path)) is not None:
                counts = {"completed": way.completed, "failed": way.failed}
                batches[-1] |= {"batch": way.batch, "status": way.status, **counts}
        return Waiting(
            f"waiting for {requests:,} replies of {self._at.base_url}: {_shown(ways.values())}",
            awaits={
                "via": "batch",
                "endpoint": self._at.base_url,
                "requests": requests,
                "batches": batches,
            },
            hint="the same command, or `runs resume`, goes on with what is finished by then",
        )


def _shown(ways: Iterable[_Way]) -> str:
    texts: list[str] = []
    for way in ways:
        count = f", {way.completed:,} answered" if way.completed else ""
        texts.append(f"{way.batch} {way.status}{count}")
    return "; ".join(texts) or "not handed over yet"


def _reason(errors: Any) -> str:  # Any: JSON
    """Return what a provider says about a batch that it refused, in whatever form."""
    if not errors:
        return "no reason given"
    reasons: list[str] = []
    entries = errors.get("data") if isinstance(errors, dict) else None
    for error in entries[:3] if isinstance(entries, list) else ():
        if isinstance(error, dict):
            reasons.append(f"{error.get('message')} (line {error.get('line')})")
    return " ".join("; ".join(reasons).split())[:500] or f"errors is {shortened(errors)}"


def _way_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.batch.json")


def _read_way(path: Path) -> _Way | None:
    way_path = _way_path(path)
    problem = "it is a link"
    if not way_path.is_symlink():
        try:
            return _WAY.validate_json(read_small(way_path, limit=_LARGEST_WAY))
        except FileNotFoundError:
            return None
        except (InputError, ValidationError, OSError) as error:
            problem = explain_yaml_error(error)
    raise InputError(
        f"{str(way_path)!r} does not say which batch has {shown(path.name)}: {problem}",
        hint=(
            "delete it, and the file is handed over again; a batch that has it already is then paid"
            " for twice"
        ),
    )


def _write_way(path: Path, way: _Way) -> _Way:
    write_beside(_way_path(path), orjson.dumps(asdict(way)).decode())
    return way


_WAY = TypeAdapter(_Way)
