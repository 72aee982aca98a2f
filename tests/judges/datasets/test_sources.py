"""What holds for every source: its rows are read by `load_dataset`, and bad files are named."""

import json
from pathlib import Path

import pytest

from judgewright.judges import BINARY, DataError, InputError, OutputScale, load_dataset
from judgewright.judges.datasets import SOURCES, Flat, ReadOptions, open_source

LABELS = {
    "llm_aggrefact": [1, 0, 1],
    "ragtruth": [1, 0, 1],
    "hotpotqa": [1, 0] * 10,
    "diras": [0, 1, 0.5],
    "climretrieve": [3, 0],
    "financebench": [1, 0, 0],
    "diras_checks": [1, 0, 1],
}


def read(name: str, path: Path) -> list[Flat]:
    """Read a release whole."""
    return list(open_source(name, path).rows)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_yields_rows_that_a_judge_can_be_measured_on(
    name: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    """Written as JSONL the rows load: the labels are those of the release, no input is empty, ids
    differ.
    """
    rows = read(name, releases[name])
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    inputs = SOURCES[name].inputs
    scale = OutputScale() if name == "climretrieve" else BINARY
    dataset = load_dataset(path, inputs=inputs, scale=scale)
    assert [row.label for row in dataset.rows] == LABELS[name]
    assert all(text for row in dataset.rows for text in row.inputs.values())
    assert all(row.group for row in dataset.rows)


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_release_gives_the_same_rows(name: str, releases: dict[str, Path]) -> None:
    """Nothing hangs on chance or on the process."""
    assert read(name, releases[name]) == read(name, releases[name])


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "ragtruth"])
def test_a_table_of_another_release_is_refused_with_the_columns_it_has(
    name: str, tmp_path: Path
) -> None:
    """The message names the file, the missing column and what is there instead."""
    path = tmp_path / "other.csv"
    path.write_text("colour,weight\nred,3\n")
    with pytest.raises(DataError, match=r"other\.csv.*missing.*'colour', 'weight'"):
        read(name, path)


@pytest.mark.parametrize("name", SOURCES)
def test_a_path_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is read lazily into a later surprise."""
    with pytest.raises(DataError, match="there is no such file or folder"):
        open_source(name, tmp_path / "nowhere")


def test_unknown_sources_and_levels_are_refused(tmp_path: Path) -> None:
    """Both messages say what there is."""
    with pytest.raises(InputError, match="no source 'squad'") as caught:
        open_source("squad", tmp_path)
    assert "ragtruth" in str(caught.value)
    with pytest.raises(InputError, match="it has response, sentence"):
        open_source("ragtruth", tmp_path, ReadOptions(level="token"))
    with pytest.raises(InputError, match="it has no levels"):
        open_source("diras", tmp_path, ReadOptions(level="sentence"))


def test_every_source_says_what_to_heed() -> None:
    """A licence caution, a judge and a line about the rows stand in one line each."""
    for source in SOURCES.values():
        assert all(
            text and "\n" not in text for text in (source.about, source.judge, source.licence)
        )
