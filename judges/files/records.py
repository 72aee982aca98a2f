"""Read records from JSONL, JSON, CSV, TSV or Parquet, strictly and with their line numbers.

Nothing here knows what a column means; `columns` gives the columns their roles.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from ..errors import DataError
from ..extras import require_extra
from .problems import Problems, shorten
from .rows_in_memory import RowsInMemory, RowSource, kind_of

Cell = str | int | float | bool | None
"""One value of a record; lists stand as JSON text."""

_MEASURED_AT_ONCE = 16
"""Rows of a Parquet file that are unpacked together to see how large they are."""
_FIELD_LIMIT = 2**31 - 1
"""Characters of a cell; the csv module's own limit is 131,072."""
_SNIFFED = 1 << 16
"""Bytes at the beginning of a table that show what stands between its columns."""
_DELIMITERS = (",", ";", "\t", "|")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?", re.ASCII)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Its mark at the beginning of a file."""
_ROWS_AT = ("data", "rows", "records", "results.results", "results", "examples", "items")
"""Where the rows are in a JSON object, what is likelier first."""
_FOREIGN_HEADS = {
    b"\x1f\x8b": "is compressed; let its name end in .gz",
    b"PAR1": "is a Parquet file; let its name end in .parquet",
    b"PK\x03\x04": "is a zip archive or a spreadsheet; save it as CSV or JSONL",
}


@dataclass(frozen=True, slots=True)
class Record:
    """One record, nested objects flattened to dotted names."""

    at: int
    """The 1-based physical line it starts on; its row number in a JSON list or a Parquet file."""
    fields: dict[str, Cell]


def read_records(source: RowSource, problems: Problems) -> Iterator[Record]:
    """Yield the records of a file, or of rows in memory, one by one.

    A record that cannot be read is entered in `problems` and left out.

    Raises:
        DataError: The file as a whole cannot be read.
    """
    for at, value in _values(source, problems):
        yield from _flat(value, at, problems)


def read_objects(
    path: Path, problems: Problems
) -> Iterator[tuple[int, dict[str, Any]]]:  # Any: JSON
    """Yield the objects of a file with their places, nesting kept where the format is JSON; what is
    no object is a problem.

    Raises:
        DataError: The file as a whole cannot be read.
    """
    if kind_of(path) == ".parquet":
        for record in read_records(path, problems):
            yield record.at, dict(record.fields)
        return
    for at, value in _values(path, problems):
        if isinstance(value, dict):
            yield at, value
        else:
            problems.add(at, f"an object is needed, this is {shorten(value)}")


def _values(
    source: RowSource, problems: Problems
) -> Iterator[tuple[int, Any]]:  # Any: JSON, or what Parquet holds
    if isinstance(source, RowsInMemory):
        yield from enumerate(source.objects, 1)
        return
    path = source
    kind = kind_of(path)
    with file_errors(path):
        if path.is_dir():
            raise DataError(f"{path} is a folder, not a file")
        if path.exists() and not path.is_file():
            # A pipe waits for whoever writes to it, and a device never ends.
            raise DataError(f"{path} is no regular file", hint="write the rows to a file first")
        if kind == ".parquet":
            yield from enumerate(_parquet(path), 1)
            return
        with open_bytes(path) as stream:
            if kind in (".jsonl", ".ndjson"):
                yield from _json_lines(stream, problems)
            elif kind == ".json":
                yield from enumerate(_json_list(_json_document(stream.read(), path), problems), 1)
            else:
                yield from _delimited(stream, "\t" if kind == ".tsv" else ",", problems)


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong while a file is read as a DataError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the compressed file is damaged ({error})") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None


def open_bytes(path: Path) -> IO[bytes]:
    """Open a text file, also as `.gz`; UTF-16 becomes UTF-8.

    Raises:
        DataError: It is no text file.
    """
    raw = gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # noqa: SIM115  # the caller closes it
    stream = io.BufferedReader(
        cast("io.RawIOBase", raw), _SNIFFED
    )  # a GzipFile is readable as a raw stream is
    head = stream.peek(64)[:64]
    if head.startswith(_UTF_16):
        with stream:
            try:
                text = stream.read().decode("utf-16")
            except UnicodeDecodeError:
                raise DataError(f"{path}: damaged UTF-16 text", hint="save it as UTF-8") from None
        return io.BufferedReader(cast("io.RawIOBase", io.BytesIO(text.encode())), _SNIFFED)
    for magic, meaning in _FOREIGN_HEADS.items():
        if head.startswith(magic):
            stream.close()
            raise DataError(f"{path}: the file {meaning}")
    # Every second byte zero: UTF-16 without its mark.
    if len(head) >= 8 and (not any(head[1:8:2]) or not any(head[:8:2])):
        stream.close()
        raise DataError(f"{path}: the file is UTF-16 text; save it as UTF-8")
    return stream


class _Lines:
    """Physical lines as text; knows the number of the line last given, and of the last that was not
    text.
    """

    def __init__(self, stream: Iterable[bytes], problems: Problems) -> None:
        self._stream = iter(stream)
        self._problems = problems
        self.number = 0
        self.damaged = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._stream)
        self.number += 1
        if self.number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in line:
            self._damage(f"a NUL byte at column {line.index(0) + 1}; this is not a text file")
        else:
            try:
                return line.decode()
            except UnicodeDecodeError as error:
                bad = f"byte 0x{line[error.start]:02x} at column {error.start + 1}"
                self._damage(f"{bad} is not UTF-8; save the file as UTF-8 (in Excel: CSV UTF-8)")
        return line.replace(b"\0", b" ").decode(errors="replace")

    def _damage(self, message: str) -> None:
        self._problems.add(self.number, message)
        self.damaged = self.number


def _json_lines(
    stream: Iterable[bytes], problems: Problems
) -> Iterator[tuple[int, Any]]:  # Any: JSON
    """Yield the values of JSON Lines with their lines; what cannot be read is a problem."""
    lines = _Lines(stream, problems)
    for line in lines:
        if lines.damaged == lines.number or not line.rstrip():
            continue
        try:
            # Some programs write a record separator (RFC 7464) or a second byte order mark before a
            # line.
            value = parse_strictly(line[1:] if line[0] in "\x1e\ufeff" else line)
        except ValueError as error:
            problems.add(lines.number, f"not valid JSON: {_plain(error)}")
            continue
        yield lines.number, value


def _json_document(body: bytes, path: object) -> Any:  # Any: JSON
    """Return the value of a file that is one JSON document.

    Raises:
        DataError: It is none.
    """
    try:
        return parse_strictly(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        hint = (
            "one object a line is JSON Lines: let the name end in .jsonl"
            if error.msg == "Extra data"
            else None
        )
        message = f"{path}, line {error.lineno}: not valid JSON: {_plain(error)}"
        raise DataError(message, hint=hint) from None
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}") from None


def _json_list(values: Any, problems: Problems) -> list[Any]:  # Any: JSON
    rows = values
    if isinstance(values, dict):
        rows = _rows_of_columns(values)
        rows = _rows_of_keys(values) if rows is None else rows
        rows = _rows_inside(values, problems) if rows is None else rows
    if not isinstance(rows, list):
        raise DataError(
            f"{problems.path}: a list of objects is needed, this is {_json_type(values)}"
        )
    return rows


def _rows_of_columns(body: dict[str, Any]) -> list[Any] | None:  # Any: JSON
    """Return the rows of an object of columns, or of one that names them beside its rows, as pandas
    writes it with `split`; None where it is neither.
    """
    names, data = body.get("columns"), body.get("data")
    if isinstance(names, list) and isinstance(data, list):
        widths = {len(row) if isinstance(row, list) else -1 for row in data}
        if widths <= {len(names)}:
            return [dict(zip(names, row, strict=True)) for row in data]
    columns = list(body.values())
    if len(columns) < 2 or not all(isinstance(column, list) for column in columns):
        return None
    tables = any(column and all(isinstance(cell, dict) for cell in column) for column in columns)
    if tables or len(set(map(len, columns))) > 1:
        return None
    return [dict(zip(body, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _rows_of_keys(body: dict[str, Any]) -> list[Any] | None:  # Any: JSON
    """Return the rows of an object of objects whose keys are numbers: of rows, as pandas writes it
    with `index`, or of columns, as it does by default; None where it is neither.
    """
    if not body or not all(isinstance(value, dict) for value in body.values()):
        return None
    if all(key.isdecimal() for key in body):
        return [*body.values()]
    keys = dict.fromkeys(key for column in body.values() for key in column)
    if not keys or not all(key.isdecimal() for key in keys):
        return None
    return [{name: column.get(key) for name, column in body.items()} for key in keys]


def _rows_inside(body: dict[str, Any], problems: Problems) -> list[Any]:  # Any: JSON
    """Return the list of objects that is inside an object, one level down or two."""
    lists = {name: value for name, value in body.items() if not isinstance(value, dict)}
    for name, value in body.items():
        if isinstance(value, dict):
            lists |= {f"{name}.{key}": inner for key, inner in value.items()}
    tables: dict[str, list[Any]] = {}  # Any: as above
    for path in (path for path in lists if isinstance(lists[path], list)):
        if all(isinstance(row, dict) for row in lists[path]):
            tables[path] = lists[path]
    usual = [path for path in _ROWS_AT if path in tables]
    if not usual and len(tables) != 1:
        others = f"; lists of objects are in {', '.join(tables)}" if tables else ""
        hint = "save the list alone as .json, or one object a line as .jsonl"
        raise DataError(
            f"{problems.path}: a list of objects is needed, this is an object{others}", hint=hint
        )
    path = (usual or list(tables))[0]
    problems.notes.append(f"the rows are the list {path!r} of the file's object")
    return tables[path]


def _sniff(text: str, usual: str, *, only: bool = False) -> tuple[str, frozenset[int]]:
    """Return what stands between the columns, and the columns that hold numbers with a decimal
    comma.

    It is what the header and the most rows agree on; of several that which makes most columns.
    """
    best, most, rows_of = usual, (0.0, 1), list[list[str]]()
    for delimiter in (usual,) if only else dict.fromkeys((usual, *_DELIMITERS)):
        rows: list[list[str]] = []
        with suppress(csv.Error):  # the last row is cut
            rows.extend(
                row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row
            )
        if not rows or len(rows[0]) < 2:
            continue
        fits = sum(len(row) == len(rows[0]) for row in rows[1:]) / max(1, len(rows) - 1)
        if (fits, len(rows[0])) > most:
            best, most, rows_of = delimiter, (fits, len(rows[0])), rows
    if best == ",":
        return best, frozenset()
    commas: set[int] = set()
    for at in range(most[1]):
        cells = [cell for row in rows_of[1:] if len(row) > at and (cell := row[at].strip())]
        if any("," in cell for cell in cells) and all(
            _DECIMAL_COMMA.fullmatch(cell) for cell in cells
        ):
            commas.add(at)
    return best, frozenset(commas)


def _delimited(
    stream: IO[bytes], delimiter: str, problems: Problems
) -> Iterator[tuple[int, dict[str, str]]]:
    head = cast("io.BufferedReader", stream).peek(_SNIFFED).decode("utf-8-sig", errors="replace")
    if "\r" in head and "\n" not in head:  # as old Macs end lines
        stream, head = io.BytesIO(stream.read().replace(b"\r", b"\n")), head.replace("\r", "\n")
    lines = _Lines(stream, problems)
    first, _, rest = head.partition("\n")
    stated = first.rstrip("\r").strip('"')  # as Excel has it, before the header
    if stated[:-1].casefold() == "sep=":
        next(lines)
        delimiter, commas = _sniff(rest, stated[-1], only=True)
    else:
        delimiter, commas = _sniff(head, delimiter)
    header: list[str] = []
    unnamed: set[str] = set()
    for start, row in _cells(lines, delimiter, problems):
        if not header:
            header = [name.strip() or f"column {i}" for i, name in enumerate(row, 1)]
            unnamed = {name for name, cell in zip(header, row, strict=True) if not cell.strip()}
            _refuse_doubles(header, problems.path)
            continue
        if not row[0] and not any(cell.strip() for cell in row):
            problems.blank += 1
            continue
        while len(row) > len(header) and not row[-1].strip():
            row.pop()
        if len(row) != len(header):
            problems.add(start, f"{len(row)} cells where the header names {len(header)} columns")
            continue
        for at in commas:
            row[at] = row[at].replace(",", ".")
        fields = dict(zip(header, row, strict=True))
        for name in unnamed:
            if not fields[name]:
                del fields[name]
        yield start, fields


def _cells(lines: _Lines, delimiter: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with the line it starts on; what is no CSV is a problem."""
    before = csv.field_size_limit(_FIELD_LIMIT)  # a global of the process, so it is put back
    try:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        skipped = lines.number
        while True:
            start = skipped + rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                problems.add(start, f"not valid CSV: {error} (a stray or unclosed quotation mark?)")
                continue
            if row and lines.damaged < start:
                yield start, row
    finally:
        csv.field_size_limit(before)


def _refuse_doubles(names: list[str], path: RowSource) -> None:
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise DataError(
            f"{path}: the column {min(doubled)!r} stands twice", hint="rename one of the two"
        )


def _parquet(path: Path) -> Iterator[dict[str, Any]]:  # Any: what Parquet holds
    require_extra("parquet", "pyarrow", purpose=f"{path}: a Parquet file")
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _refuse_doubles(list(file.schema_arrow.names), path)
            for batch in file.iter_batches(batch_size=1024):
                yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        raise DataError(
            f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})"
        ) from None


def parquet_sizes(path: Path) -> Iterator[int]:
    """Yield the bytes of a few rows at once as they will be read: a text that stands once in the
    file may be in all.

    Of a damaged file as far as it goes.
    """
    require_extra("parquet", "pyarrow", purpose="a Parquet file")
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_MEASURED_AT_ONCE):
                for column in batch.columns:
                    # A dictionary holds each text once, where reading it makes one for every row.
                    coded = pyarrow.types.is_dictionary(column.type)
                    yield (column.dictionary_decode() if coded else column).nbytes
    except (pyarrow.ArrowException, OSError):
        return


def parse_strictly(text: str) -> Any:  # Any: JSON
    """Parse JSON, refusing lone surrogates, deep nesting and doubled keys; NaN and infinite numbers
    are null.

    Raises:
        ValueError: The text is not such JSON.
    """
    try:
        value = _STRICT.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # refuses lone surrogates
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half of a character (a lone surrogate) is in it") from None
    return value


def _single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        [(doubled, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {shorten(doubled)} stands twice")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is read as infinity")
    return number


_STRICT = json.JSONDecoder(
    object_pairs_hook=_single_keys, parse_float=_finite, parse_constant=lambda _: None
)
"""Made once: `json.loads` makes a decoder for each row."""


def _plain(error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    if error.pos >= len(error.doc.rstrip()):
        return f"unexpected end of data (column {error.colno})"
    return f"{error.msg} (column {error.colno})"


def _json_type(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a boolean",
        type(None): "null",
    }
    return names.get(type(value), "a number")


_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types of values that stand in a record as they are."""


def _flat(
    value: Any, at: int, problems: Problems
) -> Iterator[Record]:  # Any: JSON, or what Parquet holds
    if not isinstance(value, Mapping):
        problems.add(at, f"an object is needed, this is {_json_type(value)}: {shorten(value)}")
        return
    if _says_nothing(next(iter(value.values()), None)) and all(map(_says_nothing, value.values())):
        problems.blank += 1
        return
    if _PLAIN.issuperset(map(type, value.values())):
        yield Record(at, dict(value))
        return
    fields: dict[str, Cell] = {}
    # A stack of its own, not recursion: nesting must not decide whether a row can be read.
    waiting: list[tuple[Any, Any]] = [*reversed(tuple(value.items()))]  # Any: JSON
    while waiting:
        name, inner = waiting.pop()
        if isinstance(inner, Mapping):
            waiting.extend((f"{name}.{key}", item) for key, item in reversed(tuple(inner.items())))
        elif name in fields:
            problems.add(
                at, f"the field {shorten(name)} stands twice once nested objects are flattened"
            )
            return
        else:
            try:
                fields[name] = _cell(inner)
            except RecursionError:
                problems.add(at, f"the field {shorten(name)} is nested too deeply")
                return
    yield Record(at, fields)


def _says_nothing(cell: Any) -> bool:  # Any: JSON, or what a data frame holds
    if isinstance(cell, float):
        return cell != cell  # NaN differs from itself
    return cell is None or (isinstance(cell, str) and not cell)


def _cell(value: Any) -> Cell:  # Any: JSON, or what Parquet holds
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        # Not orjson: it writes neither long integers nor deep lists.
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)
