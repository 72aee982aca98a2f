"""Rows and datasets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, Row, hash_rows

TEXT = st.text(st.characters(codec=None), max_size=8)
ROWS = st.lists(
    st.builds(
        lambda id, source, label, group: Row(
            id=id, inputs={"source": source}, label=label, group=group
        ),
        TEXT,
        TEXT,
        st.sampled_from([None, 0.0, 1.0]),
        TEXT,
    ),
    max_size=8,
)


@given(rows=ROWS, data=st.data())
@settings(max_examples=50, deadline=None)
def test_the_hash_does_not_depend_on_the_order_of_rows(
    rows: list[Row], data: st.DataObject
) -> None:
    """Any permutation of the same rows has the same hash, lone surrogates included."""
    assert hash_rows(data.draw(st.permutations(rows))) == hash_rows(rows)


@pytest.mark.parametrize(
    "other",
    [
        Row(id="b", inputs={"source": "x"}, label=1.0, group="g"),
        Row(id="a", inputs={"source": "y"}, label=1.0, group="g"),
        Row(id="a", inputs={"passage": "x"}, label=1.0, group="g"),
        Row(id="a", inputs={"source": "x"}, label=0.0, group="g"),
        Row(id="a", inputs={"source": "x"}, label=None, group="g"),
        Row(id="a", inputs={"source": "x"}, label=1.0, group="h"),
        Row(id="ag", inputs={"source": "x"}, label=1.0, group=""),
    ],
)
def test_the_hash_changes_with_id_inputs_label_and_group(other: Row) -> None:
    """Whatever a verdict or a split rests on is in the hash, and text cannot move between fields
    unseen.
    """
    row = Row(id="a", inputs={"source": "x"}, label=1.0, group="g")
    assert hash_rows([row]) != hash_rows([other])


def test_the_hash_ignores_metadata() -> None:
    """A column added for slicing leaves old results valid."""
    row = Row(id="a", inputs={"source": "x"}, label=1.0)
    tagged = Row(id="a", inputs={"source": "x"}, label=1.0, meta={"domain": "law"})
    assert hash_rows([row]) == hash_rows([tagged])


def test_a_dataset_counts_its_rows_and_hashes_them() -> None:
    """`Dataset.of` fills in the hash of exactly these rows."""
    rows = [Row(id="a", inputs={}, label=1.0), Row(id="b", inputs={}, label=None)]
    dataset = Dataset.of(rows, labels=BINARY, name="two")
    assert (len(dataset), dataset.content_hash) == (2, hash_rows(rows))
    assert dataset.positive(rows[0])


def test_a_row_without_a_label_is_neither_positive_nor_negative() -> None:
    """Asking is an error that names the row."""
    row = Row(id="q7", inputs={})
    with pytest.raises(ValueError, match="'q7' has no label"):
        Dataset.of([row], labels=BINARY).positive(row)
