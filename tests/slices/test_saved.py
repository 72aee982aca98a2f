"""A saved slice: what is written is read back, what is none is refused, and commands take a path or
an expression.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import InputError, JudgedDataset, hash_rows
from judgewright.slices import (
    Equals,
    Interval,
    Missing,
    Predicate,
    SavedSlice,
    find_slices,
    load_saved_slice,
    measure_slice,
    parse_predicate,
    read_slice,
    save_slice,
)

from ..judged_tables import judged_table

NOW = "2026-01-02T03:04:05+00:00"
TEXT = st.text(min_size=1, max_size=40)
CONDITIONS = st.one_of(
    st.builds(Equals, column=TEXT, value=TEXT),
    st.builds(Missing, column=TEXT),
    st.builds(Interval, column=TEXT, low=st.floats(-1e6, 1e6)),
)
EMPTY = SavedSlice(
    predicate=Predicate(),
    metric="precision",
    n=0,
    support=0,
    value=None,
    low=None,
    high=None,
    rest=None,
    p=None,
    chosen_by_hand=True,
    confirmed=False,
    prompt_target=False,
    direction=None,
    data="",
    data_hash="",
    judge="",
    model="",
    simulated=False,
    saved_at=NOW,
)


def planted(n: int = 3000) -> JudgedDataset:
    """A judge that lets bad rows through where `kind = a`."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], n)
    label = rng.random(n) < 0.5
    said = np.where(label, rng.random(n) > 0.1, rng.random(n) < np.where(kind == "a", 0.5, 0.1))
    made = judged_table(
        label, said, columns={"kind": kind.tolist()}, groups=[f"g{i // 3}" for i in range(n)]
    )
    return replace(made, dataset=replace(made.dataset, name="made"))


def test_a_found_slice_comes_back_as_it_was(tmp_path: Path) -> None:
    """Predicate, numbers to the last digit, and where it comes from."""
    judged = planted()
    found = find_slices(judged, metric="specificity").slices[0]
    saved = SavedSlice.of(found, judged, saved_at=NOW)
    save_slice(saved, tmp_path / "a.yaml")
    assert load_saved_slice(tmp_path / "a.yaml") == saved
    assert read_slice(str(tmp_path / "a.yaml")) == found.predicate
    assert (saved.value, saved.n, saved.p, saved.confirmed) == (found.value, found.n, found.p, True)
    assert saved.data_hash == hash_rows(judged.dataset.rows)
    assert (saved.data, saved.saved_at) == ("made", NOW)


def test_a_slice_of_ones_own_is_never_saved_as_confirmed(tmp_path: Path) -> None:
    """However small its p; a value that does not exist stays away."""
    judged = planted()
    saved = SavedSlice.of(
        measure_slice(judged, parse_predicate("kind = a"), metric="f1"), judged, saved_at=NOW
    )
    assert saved.p is not None
    assert saved.p < 1e-6
    assert (saved.chosen_by_hand, saved.confirmed, saved.prompt_target) == (True, False, False)
    save_slice(saved, tmp_path / "b.yaml")
    assert load_saved_slice(tmp_path / "b.yaml") == saved
    everything = SavedSlice.of(
        measure_slice(judged, Predicate(), metric="f1"), judged, saved_at=NOW
    )
    assert "rest" not in yaml.safe_load(everything.to_yaml())["found"]


@given(st.lists(CONDITIONS, max_size=3), TEXT)
def test_any_predicate_and_name_survive_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    conditions: list[Equals | Missing | Interval],
    name: str,
) -> None:
    """Control characters, half surrogates, quotes and YAML's own signs are data."""
    saved = EMPTY.model_copy(
        update={"predicate": Predicate(conditions), "data": name, "judge": name}
    )
    path = tmp_path_factory.mktemp("saved") / "s.yaml"
    save_slice(saved, path)
    assert load_saved_slice(path) == saved


def test_json_is_read_as_well(tmp_path: Path) -> None:
    """YAML holds JSON."""
    body = yaml.safe_load(EMPTY.to_yaml()) | {"slice": "kind = a and words in [3, 7)"}
    (tmp_path / "s.json").write_text(json.dumps(body))
    assert read_slice(str(tmp_path / "s.json")) == parse_predicate("kind = a and words in [3, 7)")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": 2}, "format"),
        ({"slice": "kind ~ a"}, "cannot be read"),
        ({"slice": ["a"]}, "slice"),
        ({"more": 1}, "more"),
        ({"found": {}}, "found"),
        ({"origin": None}, "origin"),
    ],
)
def test_what_is_no_saved_slice_is_refused_by_name(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    """The message says the file and the field."""
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(EMPTY.to_yaml()) | change))
    with pytest.raises(InputError, match=named):
        read_slice(str(path))


@pytest.mark.parametrize(
    "text",
    ["", "[", "- a", "just words", "!!python/object:os.system {}", "a: &a [*a]", "x" * 200_000],
)
def test_no_text_does_anything_but_be_refused(tmp_path: Path, text: str) -> None:
    """Broken YAML, tags, recursion and size."""
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        read_slice(str(path))


def test_commands_take_a_path_or_an_expression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is there wins; a file that is not there is named; an expression may be longer
    than a file's name.
    """
    monkeypatch.chdir(tmp_path)
    save_slice(
        EMPTY.model_copy(update={"predicate": parse_predicate("kind = b")}), Path("mine.yaml")
    )
    assert (
        read_slice("mine.yaml")
        == read_slice(str(tmp_path / "mine.yaml"))
        == parse_predicate("kind = b")
    )
    assert read_slice("all rows") == Predicate()
    assert read_slice("file = mine.yaml") == Predicate([Equals(column="file", value="mine.yaml")])
    long = " and ".join(f"column_{i} = {i}" for i in range(100))
    assert read_slice(long) == parse_predicate(long)
    with pytest.raises(InputError, match=r"there is no slice file 'theirs.yaml'"):
        read_slice("theirs.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        read_slice("kind")
    with pytest.raises(InputError, match="cannot write"):
        save_slice(EMPTY, tmp_path / "no" / "s.yaml")
