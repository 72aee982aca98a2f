"""`judgewright data`: check, split and import, as a person calls them."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from judgewright.judges import (
    BINARY,
    DataError,
    InputError,
    Registry,
    Row,
    load_dataset,
    split_dataset,
)
from judgewright.judges.datasets import Flat
from judgewright.runs.actions import find_leaks
from judgewright.runs.actions.make_data import import_rows
from judgewright.runs.commands.data import data
from judgewright.runs.reports.data_report import say_import

ROWS = 80


def run(*arguments: object) -> Result:
    """Call the command group; what it raises is raised here."""
    return CliRunner().invoke(
        data, [str(argument) for argument in arguments], catch_exceptions=False
    )


def parsed(*arguments: object) -> dict[str, object]:
    """Call a command with `--json` and return the one object it printed."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0
    body = json.loads(result.output)
    assert body["schema_version"] == 1
    return body


def word(n: int) -> str:
    """Return a made-up word."""
    return random.Random(n).choice("bdfgklm") + random.Random(n + 1).choice("aeiou") + str(n)


def make_rows() -> list[dict[str, object]]:
    """Return rows of forty documents with two statements each, nested columns and a column that
    leaks.
    """
    rows = []
    for i in range(ROWS):
        document, label = i // 2, (i // 2 + i) % 2
        rows.append(
            {
                "key": f"k{i}",
                "source": " ".join(word(document * 100 + k) for k in range(60)),
                "statement": " ".join(word(9000 + i * 20 + k) for k in range(8)),
                "label": label,
                "document": f"d{document}",
                "channel": ("web", "pdf")[i % 3 == 0],
                "verdict_of_ann": ["no", "yes"][label],
                "nested": {"tags": ["a", i]},
            }
        )
    return rows


@pytest.fixture
def rows_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of such rows in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in make_rows()) + "\n")
    return path


def test_check_shows_what_a_person_needs_before_paying(rows_file: Path) -> None:
    """Labels, groups, tokens of the whole run, its price and the column that leaks are in the text;
    exit 0. An unknown price is null, and a line that is no JSON is an error with its number.
    """
    judged = ("check", rows_file, "--judge", "groundedness", "--model")
    result = run(*judged, "gpt-6-luna@https://api.openai.com/v1", "--group", "document")
    assert result.exit_code == 0
    for part in ("80 rows", "0: 40 (50%)", "40 by document", "a run of groundedness@"):
        assert part in result.output
    assert "verdict_of_ann" in result.output.split("not to be shown to a judge")[1]
    assert "exact duplicates" in result.output.split("not seen:")[1]
    assert not (rows_file.parent / ".judgewright").exists()
    body = parsed(*judged, "simulated", "--id", "key")
    assert (body["rows"], body["inputs"]) == (ROWS, ["source", "statement"])
    assert (body["price"]["high"], body["tokens"]["calls"]) == (0.0, ROWS)  # type: ignore[index]
    assert parsed(*judged, "my-own@http://127.0.0.1:9/v1")["price"]["low"] is None  # type: ignore[index]
    assert parsed("check", rows_file)["price"] is None
    rows_file.write_text(rows_file.read_text() + "{broken\n")
    with pytest.raises(DataError, match=f"line {ROWS + 1}"):
        run("check", rows_file)


def test_leaks_are_found_by_value_and_by_name_and_honest_columns_are_not() -> None:
    """A copy of the label under an innocent name leaks; without labels nothing can."""
    rows = [
        Row(
            id=f"r{i}",
            inputs={"x": "y"},
            label=float(i % 2),
            meta={"mood": "ab"[i % 2], "gold_note": i % 5, "channel": "pq"[i // 2 % 2]},
            group=f"g{i}",
        )
        for i in range(60)
    ]
    found = find_leaks(rows)
    assert set(found) == {"mood", "gold_note"}
    assert "gives the label away" in found["mood"]
    assert "by convention" in found["gold_note"]
    assert find_leaks([Row(id="a", inputs={"x": "y"})]) == {}


def test_split_writes_the_split_that_optimize_would_make(rows_file: Path) -> None:
    """Together the parts are the file, nested columns included, by whole documents; the README
    stands beside them, and a second split into the folder changes nothing.
    """
    out = rows_file.parent / "parts"
    how = ("--group", "document", "--id", "key", "--split", "30/20/30/20", "--out", out)
    body = parsed("split", rows_file, *how)
    parts = {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in out.glob("*.jsonl")
    }
    assert {name: len(rows) for name, rows in parts.items()} == body["rows"]
    together = [row for rows in parts.values() for row in rows]
    assert sorted(together, key=lambda row: int(row["key"][1:])) == make_rows()
    documents = [{row["document"] for row in rows} for rows in parts.values()]
    assert sum(map(len, documents)) == len(set().union(*documents)) == 40
    scale = Registry().get("groundedness").scale
    dataset = load_dataset(
        rows_file, id="key", inputs=("source", "statement"), scale=scale, group="document"
    )
    splits = split_dataset(dataset, shares=(30, 20, 30, 20))
    assert [row["key"] for row in parts["train"]] == [row.id for row in splits.train.rows]
    for part in ("holdout", "final"):
        assert body["hashes"][part] == getattr(splits, part).content_hash  # type: ignore[index]
    readme = (out / "README.md").read_text()
    assert "Look at it once" in readme
    assert "holdout.jsonl: " in readme
    before = (out / "holdout.jsonl").read_bytes()
    with pytest.raises(InputError, match="is there already"):
        run("split", rows_file, *how)
    assert (out / "holdout.jsonl").read_bytes() == before


def test_split_fills_in_the_ids_and_groups_it_went_by(rows_file: Path) -> None:
    """From a CSV without either, each part can be benched as it is; a share of 0 has no file."""
    path = rows_file.with_name("rows.csv")
    lines = [f"{row['source']},{row['statement']},{row['label']}" for row in make_rows()]
    path.write_text("\n".join(["source,statement,label", *lines]))
    out = rows_file.parent / "parts"
    assert run("split", path, "--out", out, "--split", "40/30/30/0").exit_code == 0
    assert not (out / "final.jsonl").exists()
    ids: set[str] = set()
    for name in ("train", "validation", "holdout"):
        dataset = load_dataset(out / f"{name}.jsonl", inputs=("source", "statement"), scale=BINARY)
        assert not ids & {row.id for row in dataset.rows}
        ids |= {row.id for row in dataset.rows}
        assert any("the same group_id are one group" in note for note in dataset.notes)
    assert ids == {str(line) for line in range(2, ROWS + 2)}


def test_import_writes_rows_that_bench_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts and notes are printed; the file loads."""
    out = tmp_path / "rows.jsonl"
    say_import(import_rows(claims(1, 0, 1), out, source="a tool", notes=["two are short"]))
    printed = capsys.readouterr().out
    for part in ("3 rows in 1 groups", "0: 1 (33%)   1: 2 (67%)", "note: two are short"):
        assert part in printed
    dataset = load_dataset(out, inputs=("source", "statement"), scale=BINARY)
    assert [row.label for row in dataset.rows] == [1, 0, 1]


def claims(*labels: int) -> list[Flat]:
    """Rows as an adapter yields them."""
    return [
        {
            "id": f"c{at}",
            "group_id": "g",
            "source": "Kolm built it.",
            "statement": "s",
            "label": one,
        }
        for at, one in enumerate(labels)
    ]


def test_a_failed_import_leaves_no_file_and_the_old_one_as_it_was(tmp_path: Path) -> None:
    """The last row has an id that was used before, which the message names."""
    out = tmp_path / "out" / "rows.jsonl"
    rows = [*claims(1, 0), *claims(1)]
    with pytest.raises(DataError, match="the id 'c0' stands twice"):
        import_rows(rows, out, source="a tool")
    assert list(out.parent.iterdir()) == []
    out.write_text("old")
    with pytest.raises(DataError):
        import_rows(rows, out, source="a tool")
    assert [p.name for p in out.parent.iterdir()] == ["rows.jsonl"]
    assert out.read_text() == "old"


def test_an_unknown_source_and_badly_formed_pairs_are_refused(tmp_path: Path) -> None:
    """Each message names its option; of an unknown source it says how any table is read."""
    path = tmp_path / "export.json"
    path.write_text("[]")
    ending = ("--out", tmp_path / "rows.jsonl")
    for pair in (("--map", "query"), ("--label-map", "=1"), ("--label-map", "a=b")):
        with pytest.raises(InputError, match=pair[0]):
            run("import", "label_studio", path, *ending, *pair)
    with pytest.raises(InputError, match="no source 'ragtruth'") as caught:
        run("import", "ragtruth", path, *ending)
    assert "--column INPUT=COLUMN --label COLUMN" in (caught.value.hint or "")
    with pytest.raises(InputError, match="no source 'ragtruth'"):
        run("import", "ragtruth")
