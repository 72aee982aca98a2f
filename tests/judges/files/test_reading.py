"""Reading labelled rows from files of every format, and refusing what cannot be read."""

import csv
import gzip
import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, DataError, Dataset, InputError, OutputScale
from judgewright.judges.files import WORDS, load_dataset, near_names, read_grade, words_of

TABLE = yaml.safe_load((Path(__file__).parent / "reading.yaml").read_text(encoding="utf-8"))
GRADED = OutputScale()
SHARED = Path(__file__).resolve().parents[3] / "../shared/data"
INPUTS = {
    "groundedness": ("source", "statement"),
    "context_relevance": ("query", "passage"),
    "answer_relevance": ("query", "answer"),
    "diras": ("question", "relevance_definition", "paragraph"),
}


def line(**fields: object) -> str:
    """Return one good JSON row with some fields changed."""
    return json.dumps({"source": "the sky is blue", "statement": "blue", "label": 1, **fields})


def read(folder: Path, name: str, body: str | bytes, **options: object) -> Dataset:
    """Write a file and load it for a judge of source and statement."""
    path = folder / name
    path.write_bytes(body.encode() if isinstance(body, str) else body)
    return load_dataset(path, inputs=["source", "statement"], scale=GRADED, **options)  # type: ignore[arg-type]


def refusal(folder: Path, name: str, body: str | bytes, **options: object) -> DataError:
    """Return the error that loading such a file ends in."""
    with pytest.raises(DataError) as caught:
        read(folder, name, body, **options)
    return caught.value


# Formats


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    """JSONL, JSON, CSV, TSV, Parquet and their gzipped forms hold the same dataset."""
    pandas = pytest.importorskip("pandas")
    plain = [
        {
            "id": f"r{i}",
            "source": f'the, "sky"\nis {i}',
            "statement": "ü",
            "label": i % 2,
            "group_id": f"g{i // 2}",
            "n": i,
        }
        for i in range(5)
    ]
    jsonl = "\n".join(json.dumps(row) for row in plain)
    tables = {}
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t")):
        text = io.StringIO()
        writer = csv.DictWriter(text, list(plain[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(plain)
        tables[name] = text.getvalue().encode()
    files = {
        "a.jsonl": jsonl.encode(),
        "a.ndjson": jsonl.encode(),
        "a.json": json.dumps(plain).encode(),
        **tables,
    }
    files |= {f"{name}.gz": gzip.compress(body) for name, body in files.items()}
    loaded = [read(tmp_path, name, body) for name, body in files.items()]
    pandas.DataFrame(plain).to_parquet(tmp_path / "a.parquet")
    loaded.append(
        load_dataset(tmp_path / "a.parquet", inputs=["source", "statement"], scale=GRADED)
    )
    assert len({dataset.content_hash for dataset in loaded}) == 1
    assert all(dataset.rows == loaded[0].rows for dataset in loaded)
    assert loaded[0].rows[3].meta == {"n": 3}


@pytest.mark.parametrize("name", ["data.txt", "data", "data.parquet.gz", "data.gz"])
def test_an_unknown_format_is_refused_by_name(tmp_path: Path, name: str) -> None:
    """The message lists what is accepted."""
    error = refusal(tmp_path, name, line())
    assert name in str(error)
    assert ".jsonl" in (error.hint or "")


NOT_WHAT_THE_NAME_SAYS: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("a.jsonl", "", "no rows"),
    "blank lines": ("a.jsonl", "\n \r\n", "no rows"),
    "only a header": ("a.csv", "source,statement,label\n", "no rows"),
    "empty list": ("a.json", "[]", "no rows"),
    "utf-16-le": ("a.jsonl", line().encode("utf-16-le"), "UTF-16"),
    "utf-16-be table": ("a.csv", "source,statement,label\n".encode("utf-16-be"), "UTF-16"),
    "gzip without the ending": ("a.jsonl", gzip.compress(b"{}", mtime=0), "name end in .gz"),
    "parquet as csv": ("a.csv", b"PAR1 and so on", "Parquet"),
    "spreadsheet as csv": ("a.csv", b"PK\x03\x04 and so on", "spreadsheet"),
    "cut gzip": ("a.jsonl.gz", gzip.compress(line().encode() * 99, mtime=0)[:-12], "damaged"),
    "text as gzip": ("a.jsonl.gz", line(), "damaged"),
    "cut parquet": ("a.parquet", b"PAR1 is not enough", "Parquet"),
    "one object as json": ("a.json", line(), "a list of objects is needed, this is an object"),
    "broken json": ("a.json", '[{"source": 1},\n oops]', "line 2"),
    "json not utf-8": ("a.json", b'[{"source":\n "\xff"}]', "line 2: not UTF-8"),
    "deep json": ("a.json", "[" * 100_000, "nested too deeply"),
}
"""Ids of their own: made from the bytes, they would change with the clock in a gzip header."""


@pytest.mark.parametrize(
    ("name", "body", "said"), NOT_WHAT_THE_NAME_SAYS.values(), ids=NOT_WHAT_THE_NAME_SAYS.keys()
)
def test_a_file_that_is_not_what_its_name_says_is_refused(
    tmp_path: Path, name: str, body: str | bytes, said: str
) -> None:
    """Each message names the file and what it is instead."""
    error = refusal(tmp_path, name, body)
    assert said in str(error)
    assert name in str(error)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    """Neither ends in a bare OSError."""
    (tmp_path / "folder.jsonl").mkdir()
    for name, said in (
        ("folder.jsonl", "is a folder"),
        ("none.jsonl", "no such file"),
        ("none.parquet", "no such file"),
    ):
        with pytest.raises(DataError, match=said):
            load_dataset(tmp_path / name, inputs=["source"], scale=GRADED)


def test_json_lines_under_a_json_name_are_told_where_they_belong(tmp_path: Path) -> None:
    """The two are mixed up often enough for a hint each way."""
    assert ".jsonl" in (refusal(tmp_path, "a.json", f"{line()}\n{line()}").hint or "")
    assert ".json" in (refusal(tmp_path, "a.jsonl", f"[\n{line()},\n{line()}\n]").hint or "")


# Lines


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        *TABLE["lines"],
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "nested too deeply"),
        (b'{"source": "\xff", "label": 1}', "byte 0xff at column 13 is not UTF-8"),
        (b'{"source": "\x00", "label": 1}', "NUL byte at column 13"),
    ],
)
def test_one_bad_line_is_named_by_file_line_and_field(
    tmp_path: Path, bad: str | bytes, said: str
) -> None:
    """The blank line before it is counted: the number is the one an editor shows."""
    body = bad.encode() if isinstance(bad, str) else bad
    error = refusal(
        tmp_path, "rows.jsonl", line().encode() + b"\n\n" + body + b"\n" + line().encode()
    )
    assert "rows.jsonl, line 3:" in str(error)
    assert said in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_just_under_the_parsers_limit_is_read_or_refused(
    tmp_path: Path, opening: str, closing: str
) -> None:
    """A thousand levels pass one parser and may exhaust the other's stack; neither crashes."""
    deep = opening * 1000 + "1" + closing * 1000
    body = '{"source": "a", "statement": "b", "label": 1, "deep": ' + deep + "}"
    with suppress(DataError):
        assert len(read(tmp_path, "a.jsonl", body)) == 1


def test_many_problems_are_ten_in_words_and_all_in_number(tmp_path: Path) -> None:
    """One error lists the first ten problems in the order of lines and counts the rest."""
    bodies = [line(label="maybe") if i % 2 else "{" for i in range(30)]
    message = str(refusal(tmp_path, "a.jsonl", "\n".join(bodies)))
    assert "30 problems" in message
    assert "and 20 more" in message
    numbers = [
        int(part.split(":")[0])
        for part in message.split("line ")[1:]
        if part.split(":")[0].isdigit()
    ]
    assert numbers == list(range(1, 11))


@given(
    body=st.binary(max_size=200),
    name=st.sampled_from(["a.jsonl", "a.json", "a.csv", "a.tsv", "a.jsonl.gz", "a.parquet"]),
)
@settings(max_examples=150, deadline=None)
def test_no_bytes_whatever_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, name: str
) -> None:
    """Any file is read or refused with a DataError."""
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(body)
    with pytest.raises(DataError):
        load_dataset(path, inputs=["source"], scale=GRADED)


def test_a_byte_order_mark_and_windows_line_ends_are_no_content(tmp_path: Path) -> None:
    """They change neither the first column's name nor the last column's text."""
    jsonl = read(
        tmp_path, "a.jsonl", b"\xef\xbb\xbf" + f"{line(id=1)}\r\n{line(id=2, label=0)}\r\n".encode()
    )
    table = read(
        tmp_path, "a.csv", b"\xef\xbb\xbfsource,statement,label,kind\r\na,b,1,x\r\nc,d,0,y\r\n"
    )
    assert [row.id for row in jsonl.rows] == ["1", "2"]
    assert [row.meta["kind"] for row in table.rows] == ["x", "y"]


def test_a_row_of_fifty_megabytes_is_read_whole(tmp_path: Path) -> None:
    """A note says how long it is."""
    dataset = read(tmp_path, "a.jsonl", line(source="word " * 10_000_000))
    assert len(dataset.rows[0].inputs["source"]) == 50_000_000
    assert "the longest row, '1', has 50,000,004 characters" in dataset.notes


def test_a_long_csv_cell_is_read_without_touching_the_limit_of_others(tmp_path: Path) -> None:
    """The csv module refuses cells over 131,072 characters by a global setting, which is put
    back.
    """
    before = csv.field_size_limit()
    dataset = read(tmp_path, "a.csv", f"source,statement,label\n{'word ' * 1_000_000},b,1\n")
    assert len(dataset.rows[0].inputs["source"]) == 5_000_000
    assert csv.field_size_limit() == before


def test_line_separators_inside_a_text_do_not_end_the_line(tmp_path: Path) -> None:
    """U+2028, U+0085 and form feeds are text."""
    text = "a\u2028b\u0085c\x0cd"
    body = json.dumps({"source": text, "statement": "b", "label": 1}, ensure_ascii=False).replace(
        "\x0c", "\\f"
    )
    assert read(tmp_path, "a.jsonl", body).rows[0].inputs["source"] == text


# CSV


@pytest.mark.parametrize(("rows", "said"), TABLE["csv"])
def test_a_broken_csv_row_is_named_by_the_line_it_starts_on(
    tmp_path: Path, rows: str, said: str
) -> None:
    """Quoted line breaks and blank lines before it are counted."""
    assert said in str(refusal(tmp_path, "a.csv", f"source,statement,label\n{rows}"))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Keeping the last of them silently would judge the wrong text."""
    assert "'source' stands twice" in str(
        refusal(tmp_path, "a.csv", "source,source,label\na,b,1\n")
    )


def test_csv_metadata_gets_the_types_it_would_have_in_json(tmp_path: Path) -> None:
    """Numbers and booleans are read column by column; codes with leading zeros stay text."""
    body = "source,statement,label,n,x,flag,code,word\na,b,1,5,1.5,true,012,none\nc,d,0,,nan,False,7,\n"  # noqa: E501
    first, second = (row.meta for row in read(tmp_path, "a.csv", body).rows)
    assert first == {"n": 5, "x": 1.5, "flag": True, "code": "012", "word": "none"}
    assert second == {"n": None, "x": None, "flag": False, "code": "7", "word": None}


# Columns


def test_nested_objects_flatten_and_lists_stay_text(tmp_path: Path) -> None:
    """Dotted names, whatever the depth; every row has every column; a null object leaves no column
    of its own.
    """
    body = "\n".join(
        [line(metadata={"q": {"type": "how"}, "tags": ["a", 1]}), line(label=0, metadata=None)]
    )
    first, second = (row.meta for row in read(tmp_path, "a.jsonl", body).rows)
    assert first == {"metadata.q.type": "how", "metadata.tags": '["a", 1]'}
    assert second == {"metadata.q.type": None, "metadata.tags": None}


def test_inputs_label_id_and_group_are_not_metadata(tmp_path: Path) -> None:
    """A field the template does not name, such as the query, is."""
    row = read(tmp_path, "a.jsonl", line(id=7, group_id="g", query="why?", length=3)).rows[0]
    assert (row.id, row.group, row.label) == ("7", "g", 1.0)
    assert row.meta == {"query": "why?", "length": 3}
    assert row.inputs == {"source": "the sky is blue", "statement": "blue"}


def test_columns_are_mapped_to_inputs_by_name(tmp_path: Path) -> None:
    """The judge's name comes first, nested columns can be named, and a mapped column is no
    metadata.
    """
    body = json.dumps(
        {"ctx": {"text": "a"}, "statement": "b", "gold": "yes", "key": "k", "doc": "d"}
    )
    options = {"columns": {"source": "ctx.text"}, "label": "gold", "id": "key", "group": "doc"}
    row = read(tmp_path, "a.jsonl", body, **options).rows[0]
    assert (row.inputs, row.label, row.id, row.group, row.meta) == (
        {"source": "a", "statement": "b"},
        1.0,
        "k",
        "d",
        {},
    )


def test_missing_columns_are_all_named_with_near_ones(tmp_path: Path) -> None:
    """The message lists the columns there are, and the hint is the option to type."""
    error = refusal(
        tmp_path, "a.jsonl", '{"inputs": {"source": "a b"}, "statment": "b", "label": 1}'
    )
    assert "the column 'source' is missing (did you mean 'inputs.source'?)" in str(error)
    assert "the column 'statement' is missing (did you mean 'statment'?)" in str(error)
    assert "'inputs.source', 'label', 'statment'" in str(error)
    assert "--column source=inputs.source --column statement=statment" in (error.hint or "")


def test_an_option_that_names_no_column_is_refused(tmp_path: Path) -> None:
    """Each option is named in its hint; no default is taken instead of what was asked for."""
    for option in ("label", "id", "group"):
        error = refusal(tmp_path, "a.jsonl", line(), **{option: "nosuch"}, require_labels=False)
        assert "'nosuch' is missing" in str(error)
        assert f"--{option}" in (error.hint or "")


def test_a_mapping_for_an_input_the_judge_does_not_have_is_refused(tmp_path: Path) -> None:
    """It is usually written the wrong way round."""
    with pytest.raises(InputError, match="no input 'context'"):
        read(tmp_path, "a.jsonl", line(), columns={"context": "source"})


def test_near_names_know_dotted_columns() -> None:
    """The last part of a dotted name counts by itself, and an exact hit comes first."""
    assert near_names("source", ["sauces", "inputs.source", "label"])[0] == "inputs.source"
    assert near_names("zzz", ["a", "b"]) == []
    columns = ["question", "context", "answer", "correct"]
    for wanted, usual in (
        ("source", "context"),
        ("statement", "answer"),
        ("query", "question"),
        ("label", "correct"),
    ):
        assert near_names(wanted, columns)[0] == usual


def test_double_ids_are_refused_with_both_lines(tmp_path: Path) -> None:
    """Also where one is a number and the other the same digits as text; a null id is no id."""
    body = "\n".join([line(id=1), line(id="2"), line(id="1"), line(id=None)])
    message = str(refusal(tmp_path, "a.jsonl", body))
    assert "line 3: the id '1' was used before, on line 1" in message
    assert "line 4: field 'id': the id is missing" in message


def test_without_an_id_the_line_number_is_the_id(tmp_path: Path) -> None:
    """The physical line, and a note says so."""
    dataset = read(tmp_path, "a.jsonl", f"\n{line()}\n\n{line(label=0)}")
    assert [row.id for row in dataset.rows] == ["2", "4"]
    assert "ids are line numbers, as no column is named id" in dataset.notes


# Labels


@pytest.mark.parametrize(("value", "grade"), TABLE["grades"])
def test_grades_are_read_as_people_write_them(
    value: str | float | None, grade: float | None
) -> None:
    """Booleans, words and numbers as text count; what is not finite is missing."""
    assert read_grade(value, WORDS) == grade


@pytest.mark.parametrize("value", ["maybe", "1_0", "0x1", "1,5", "[1]", "١", "--1"])
def test_what_is_no_grade_is_not_guessed_at(value: str) -> None:
    """Python would read some of these as numbers."""
    with pytest.raises(ValueError, match="neither a number nor one of"):
        read_grade(value, WORDS)


def test_labels_of_a_choice_are_read_by_their_text(tmp_path: Path) -> None:
    """The index of the label is the grade, and words that merely look like no or N/A are labels
    first.
    """
    scale = OutputScale(kind="choice", labels=("N/A", "no", "Yes"), threshold=2)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(line(label=label) for label in ("yes", "no", "n/a", None)))
    dataset = load_dataset(path, inputs=["source"], scale=scale)
    assert [row.label for row in dataset.rows] == [2.0, 1.0, 0.0, None]
    assert dataset.labels == scale
    assert "true" not in words_of(scale)


def test_a_label_outside_the_scale_is_named_by_line(tmp_path: Path) -> None:
    """Inferred or given, no label is clipped."""
    body = "\n".join(line(label=label) for label in (0, 5, 3))
    assert "line 2: field 'label': 5 is outside the scale (0..3" in str(
        refusal(tmp_path, "a.jsonl", body)
    )
    given = refusal(tmp_path, "a.jsonl", body, label_scale=BINARY)
    assert "2 problems" in str(given)
    assert "--label-scale" in (given.hint or "")


def test_the_label_scale_is_inferred_and_said(tmp_path: Path) -> None:
    """0/1 labels under a graded judge are binary; a note says so."""
    dataset = read(tmp_path, "a.jsonl", f"{line(label=0)}\n{line(label=1)}")
    assert dataset.labels == BINARY
    assert any("read as 0/1" in note for note in dataset.notes)
    five = OutputScale(low=1, high=5, threshold=4)
    assert read(tmp_path, "a.jsonl", line(label=5), label_scale=five).labels == five


def test_the_limit_does_not_change_the_scale(tmp_path: Path) -> None:
    """The first rows are all 0 or 1, but a later label shows that 1 is a low grade; rows beyond are
    not judged.
    """
    body = "\n".join([*(line(label=label) for label in (0, 1, 3)), "{not read"])
    dataset = read(tmp_path, "a.jsonl", body, limit=2)
    assert len(dataset) == 2
    assert dataset.labels == GRADED
    assert "at most the first 2 rows were read" in dataset.notes
    with pytest.raises(InputError, match="limit 0"):
        read(tmp_path, "a.jsonl", body, limit=0)


def test_missing_labels_are_kept_and_counted(tmp_path: Path) -> None:
    """They are None, never zero."""
    dataset = read(
        tmp_path, "a.jsonl", "\n".join(line(label=label) for label in (1, None, 0, "nan"))
    )
    assert [row.label for row in dataset.rows] == [1.0, None, 0.0, None]
    assert "2 of 4 rows have no label" in dataset.notes


def test_a_file_without_labels_is_refused_unless_none_are_needed(tmp_path: Path) -> None:
    """Whether the column is empty or not there at all."""
    absent = '{"source": "a", "statement": "b"}'
    assert "no row has a label" in str(refusal(tmp_path, "a.jsonl", line(label=None)))
    assert "'label' is missing" in str(refusal(tmp_path, "a.jsonl", absent))
    assert read(tmp_path, "a.jsonl", absent, require_labels=False).rows[0].label is None


def test_labels_of_one_side_only_are_said_aloud(tmp_path: Path) -> None:
    """No metric of the other side can be measured on them."""
    assert any(
        "every label is positive" in note for note in read(tmp_path, "a.jsonl", line()).notes
    )


# Groups


def test_rows_that_share_their_longest_input_are_one_group(tmp_path: Path) -> None:
    """Spaces do not matter, and a note names the input."""
    sources = ("a long source text", "a  long source text ", "another long source text")
    dataset = read(tmp_path, "a.jsonl", "\n".join(line(source=source) for source in sources))
    one, two, three = (row.group for row in dataset.rows)
    assert one == two != three
    assert "rows that share the same source are one group (2 groups)" in dataset.notes


def test_a_group_column_is_taken_and_said(tmp_path: Path) -> None:
    """A row without a value in it stands alone instead of joining the others that have none."""
    body = "\n".join(line(group_id=group) for group in ("a", "a", None, ""))
    dataset = read(tmp_path, "a.jsonl", body)
    assert [row.group for row in dataset.rows] == ["a", "a", "", ""]
    assert "rows that share the same group_id are one group (1 group)" in dataset.notes
    assert "rows without a group_id, each standing alone: 2" in dataset.notes


def test_empty_inputs_are_kept_and_said(tmp_path: Path) -> None:
    """An empty passage can be judged; it should not pass unnoticed."""
    dataset = read(tmp_path, "a.jsonl", f"{line()}\n{line(source=' ')}")
    assert "rows with an empty source: 1 (the first is '2')" in dataset.notes


def test_parquet_problems_are_named_by_row(tmp_path: Path) -> None:
    """Parquet has no lines; NaN in the label column is a missing label."""
    pandas = pytest.importorskip("pandas")
    rows = [
        {"source": "a", "statement": "b", "label": 1.0},
        {"source": "a", "statement": "b", "label": float("nan")},
    ]
    pandas.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    dataset = load_dataset(tmp_path / "a.parquet", inputs=["source"], scale=GRADED)
    assert [row.label for row in dataset.rows] == [1.0, None]
    pandas.DataFrame([*rows, {"source": None, "statement": "b", "label": 0.0}]).to_parquet(
        tmp_path / "b.parquet"
    )
    with pytest.raises(DataError, match=r"b\.parquet, row 3: field 'source' is null"):
        load_dataset(tmp_path / "b.parquet", inputs=["source"], scale=GRADED)


# Real files


@pytest.mark.parametrize(("name", "rows", "kind", "groups"), TABLE["shared"])
def test_every_shared_file_loads(name: str, rows: int, kind: str, groups: int) -> None:
    """Rows, label scale and groups are those of the files' own description."""
    path = SHARED / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared data are not beside the checkout")
    inputs = next(fields for prefix, fields in INPUTS.items() if name.startswith(prefix))
    dataset = load_dataset(path, inputs=inputs, scale=GRADED)
    assert (len(dataset), dataset.labels.kind) == (rows, kind)
    assert len({row.group for row in dataset.rows}) == groups
    assert all(row.label is not None and set(row.inputs) == set(inputs) for row in dataset.rows)


def test_rows_that_lack_an_input_are_left_out_only_when_asked(tmp_path: Path) -> None:
    """Refused by line and field as ever; with `skip_incomplete` they are counted in a note, the
    others stay.
    """
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"id": "a", "source": "s", "statement": "t", "label": 1}\n'
        '{"id": "b", "source": "s", "statement": null, "label": 0}\n'
        '{"id": "c", "source": "s", "label": 0}\n'
    )
    scale = OutputScale(kind="binary", threshold=1)
    with pytest.raises(DataError, match="line 2"):
        load_dataset(path, inputs=("source", "statement"), scale=scale)
    found = load_dataset(path, inputs=("source", "statement"), scale=scale, skip_incomplete=True)
    assert [row.id for row in found.rows] == ["a"]
    assert any(note.startswith("2 rows lack one of source, statement") for note in found.notes)
    path.write_text('{"id": "b", "source": "s", "statement": null, "label": 0}\n')
    with pytest.raises(DataError, match="no row has all of source, statement"):
        load_dataset(path, inputs=("source", "statement"), scale=scale, skip_incomplete=True)
