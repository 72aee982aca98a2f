"""Tables as programs write them: Excel in several languages, Google Sheets, LibreOffice, pandas, R
and others.

All hold the same six rows; whatever wrote them, the same rows are read.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from judgewright.judges import DataError, Dataset, OutputScale, load_dataset, load_verdicts
from judgewright.judges.files import VerdictColumns, rows_in_memory, stream_verdicts

BINARY = OutputScale(kind="binary", threshold=1.0)
SOURCE = 'The canteen opens at 7:30, serves 20 meals; "lunch" costs 4,50 €\nand dinner 6 €.'
ROWS = [
    {
        "id": f"q{n}",
        "source": SOURCE,
        "statement": f"It serves {n} meals, no more.",
        "label": n % 2,
        "score": n / 8,
    }
    for n in range(1, 7)
]
FRAME = pd.DataFrame(ROWS)
COLUMNS = list(ROWS[0])


def table(
    delimiter: str = ",", *, decimal: str = ".", quoting: int = csv.QUOTE_MINIMAL, end: str = "\r\n"
) -> str:
    """The rows as a delimited table."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
    writer.writerow(COLUMNS)
    for row in ROWS:
        writer.writerow(
            [
                str(cell).replace(".", decimal) if name == "score" else cell
                for name, cell in row.items()
            ]
        )
    return file.getvalue()


def with_blank_rows(delimiter: str) -> str:
    """Google Sheets and Excel write formatted rows below the data as blank ones, and unnamed
    columns beside it.
    """
    lines = table(delimiter, end="\n").replace("\nand dinner", " and dinner").splitlines()
    return "\n".join([*(line + 2 * delimiter for line in lines), *[delimiter * 6] * 3, ""])


EXPORTS: dict[str, tuple[str, str | bytes]] = {
    "Excel, English": ("a.csv", table()),
    "Excel, German": ("a.csv", table(";", decimal=",").encode("utf-8-sig")),
    "Excel, with its line on top": ("a.csv", "sep=;\r\n" + table(";", decimal=",")),
    "Excel, the line quoted, with a mark": (
        "a.csv",
        ('"sep=;"\r\n' + table(";")).encode("utf-8-sig"),
    ),
    "Excel, the line in capitals with a tab": ("a.csv", "SEP=\t\n" + table("\t")),
    "a separator that only the line knows": ("a.csv", "sep=#\n" + table("#")),
    "Excel, UTF-16 with tabs": ("a.csv", table("\t", decimal=",").encode("utf-16")),
    "Excel, UTF-16 big end first": ("a.tsv", b"\xfe\xff" + table("\t").encode("utf-16-be")),
    "LibreOffice, all quoted": ("a.csv", table(";", quoting=csv.QUOTE_ALL, end="\n")),
    "LibreOffice, tabs": ("a.csv", table("\t", end="\n")),
    "a bar": ("a.csv", table("|", end="\n")),
    "commas named .tsv": ("a.tsv", table(end="\n")),
    "Google Sheets, blank rows": ("a.csv", with_blank_rows(",")),
    "Excel, German, blank rows": ("a.csv", with_blank_rows(";").encode("utf-8-sig")),
    "R": ("a.csv", table(quoting=csv.QUOTE_NONNUMERIC, end="\n")),
    "pandas, with its index": ("a.csv", FRAME.to_csv()),
    "pandas, semicolons and decimal commas": (
        "a.csv",
        FRAME.to_csv(sep=";", decimal=",", index=False),
    ),
    "pandas, NaN": ("a.csv", FRAME.assign(note=float("nan")).to_csv(index=False, na_rep="NaN")),
    "pandas, JSON of columns": ("a.json", FRAME.to_json()),
    "pandas, JSON by index": ("a.json", FRAME.to_json(orient="index")),
    "pandas and datasets, lists by column": ("a.json", json.dumps(FRAME.to_dict("list"))),
    "pandas, JSON of records": ("a.json", FRAME.to_json(orient="records")),
    "pandas, JSON split": ("a.json", FRAME.to_json(orient="split")),
    "pandas, JSON table": ("a.json", FRAME.to_json(orient="table")),
    "pandas, JSON Lines": ("a.jsonl", FRAME.to_json(orient="records", lines=True)),
    "Python, NaN beside": (
        "a.jsonl",
        "\n".join(json.dumps({**row, "note": float("nan")}) for row in ROWS),
    ),
    "Python, infinite beside": (
        "a.json",
        json.dumps([{**row, "ratio": float("inf")} for row in ROWS]),
    ),
    "an object with data": ("a.json", json.dumps({"data": ROWS, "version": 1})),
    "an object with rows and others": (
        "a.json",
        json.dumps({"columns": [{"name": "id"}], "rows": ROWS}),
    ),
    "two levels down": ("a.json", json.dumps({"export": {"examples": ROWS, "count": 6}})),
    "records, UTF-16": ("a.jsonl", "\n".join(map(json.dumps, ROWS)).encode("utf-16")),
    "records with a mark": ("a.jsonl", "\n".join(map(json.dumps, ROWS)).encode("utf-8-sig")),
    "blank objects": (
        "a.jsonl",
        "\n".join([*map(json.dumps, ROWS), "{}", json.dumps(dict.fromkeys(COLUMNS))]),
    ),
    "old Mac": ("a.csv", table(end="\r").replace("\nand", " and")),
}


def write(folder: Path, name: str, body: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(body.encode() if isinstance(body, str) else body)
    return path


def read(path: Path) -> Dataset:
    return load_dataset(path, inputs=("source", "statement"), scale=BINARY)


@pytest.mark.parametrize("program", EXPORTS)
def test_the_same_rows_are_read_whatever_wrote_them(tmp_path: Path, program: str) -> None:
    """Texts with commas, semicolons, quotation marks and line breaks, labels, and numbers in other
    columns.
    """
    path = write(tmp_path, *EXPORTS[program])
    data = read(path)
    texts = [
        (row.id, row.inputs["source"].split(), row.inputs["statement"], row.label)
        for row in data.rows
    ]
    assert texts == [(row["id"], SOURCE.split(), row["statement"], row["label"]) for row in ROWS]
    assert [row.meta["score"] for row in data.rows] == [row["score"] for row in ROWS]
    assert load_verdicts(path).score.tolist() == [row["score"] for row in ROWS]
    if path.suffix != ".json":
        assert sorted(stream_verdicts(path, VerdictColumns()).score.tolist()) == [
            row["score"] for row in ROWS
        ]


@pytest.mark.parametrize("program", ["Google Sheets, blank rows", "Excel, German, blank rows"])
def test_blank_rows_are_counted(tmp_path: Path, program: str) -> None:
    """They are no rows, and columns without a name and content are none either."""
    path = write(tmp_path, *EXPORTS[program])
    data = read(path)
    assert "blank rows, skipped: 3" in data.notes
    assert data.rows[0].meta == {"score": 0.125}
    assert "blank rows, skipped: 3" in stream_verdicts(path, VerdictColumns()).dataset.notes


def test_where_rows_were_found_is_said_or_asked(tmp_path: Path) -> None:
    """One list of objects is taken; of several without a usual name all are named."""
    one = read(write(tmp_path, "one.json", json.dumps({"made": "today", "answers": ROWS})))
    assert "the rows are the list 'answers' of the file's object" in one.notes
    with pytest.raises(DataError, match="the file has no rows"):
        read(write(tmp_path, "none.json", json.dumps({"data": []})))
    two = write(tmp_path, "two.json", json.dumps({"first": ROWS, "second": ROWS}))
    with pytest.raises(DataError, match="lists of objects are in first, second") as caught:
        read(two)
    assert "save the list alone" in (caught.value.hint or "")


def test_a_data_frame_may_hold_lists_and_gaps() -> None:
    """Its first column too; a row without anything is blank."""
    frame = FRAME.astype({"label": "Int64"})
    frame.insert(0, "tags", [np.array([1, 2]), pd.NA, [], None, float("nan"), "x"])
    frame.loc[6] = [None] * len(frame.columns)
    data = load_dataset(rows_in_memory(frame), inputs=("source", "statement"), scale=BINARY)
    assert [row.label for row in data.rows] == [row["label"] for row in ROWS]
    assert "blank rows, skipped: 1" in data.notes


def test_windows_1252_is_named_with_what_to_do(tmp_path: Path) -> None:
    """Excel's plain CSV in Europe; which encoding it is cannot be known."""
    with pytest.raises(DataError, match="is not UTF-8; save the file as UTF-8"):
        read(write(tmp_path, "a.csv", table(";").encode("cp1252")))


def test_nan_in_a_column_that_is_read_is_a_gap(tmp_path: Path) -> None:
    """In an input it is missing; as a label it is none."""
    lines = [json.dumps({**row, "label": float("nan") if n else 1}) for n, row in enumerate(ROWS)]
    assert [row.label for row in read(write(tmp_path, "a.jsonl", "\n".join(lines))).rows] == [
        1,
        *[None] * 5,
    ]
    lines[2] = json.dumps({**ROWS[2], "source": float("nan")})
    with pytest.raises(DataError, match="line 3: field 'source' is null"):
        read(write(tmp_path, "b.jsonl", "\n".join(lines)))
