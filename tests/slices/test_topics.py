"""Topics are found from texts alone, are the same wherever they are read, and can be sliced on once
written down.
"""

import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, DataError, Dataset, InputError, JudgedDataset, Row, Verdict
from judgewright.slices import Topic, Topics, add_topics, find_slices, fit_topics, parse_predicate

SUBJECTS = {
    "money": "refund price invoice payment card order",
    "health": "doctor fever vaccine clinic nurse pain",
    "sea": "boat harbour sailor anchor tide wave",
}


def about(n: int, seed: int = 0) -> tuple[list[Row], np.ndarray]:
    """Rows whose statements are about one of three subjects, and which; every text has ordinary
    words too.
    """
    rng = np.random.default_rng(seed)
    subject = rng.choice(list(SUBJECTS), n)
    rows = []
    for i in range(n):
        own = rng.choice(SUBJECTS[subject[i]].split(), 4, replace=False)
        plain = rng.choice(
            ["the", "of", "people", "made", "large", "simple", "thing", "often", "year"], 5
        )
        rows.append(
            Row(
                id=f"r{i}",
                inputs={"statement": f"{' '.join([*own, *plain])} {i}"},
                label=float(i % 2),
                group=f"g{i}",
            )
        )
    return rows, subject


def judged_of(rows: list[Row], wrong: np.ndarray) -> JudgedDataset:
    """A judge that errs where it is told to."""
    said = [bool(row.label) ^ bool(w) for row, w in zip(rows, wrong, strict=True)]
    answers = tuple(
        Verdict(row_id=row.id, score=float(p), positive=p)
        for row, p in zip(rows, said, strict=True)
    )
    return JudgedDataset(
        dataset=Dataset(rows=tuple(rows), labels=BINARY), answers=answers, scale=BINARY
    )


def test_subjects_are_told_apart_and_named_by_their_words() -> None:
    """The clusters are the planted ones, by scikit-learn's adjusted Rand index, and each name is of
    one subject.
    """
    from sklearn.metrics import adjusted_rand_score

    rows, subject = about(400)
    (topics,) = fit_topics(rows, 3)
    assigned = topics.assign([row.inputs["statement"] for row in rows])
    assert adjusted_rand_score(subject, assigned) == 1.0
    for topic in topics.topics:
        words = topic.name.split()
        assert len(words) == 3
        assert any(set(words) <= set(vocabulary.split()) for vocabulary in SUBJECTS.values())
    assert topics.column == "statement:topic"
    assert topics.assign(["An INVOICE, for a refund!", "", "zzz"])[1:] == [None, None]
    assert topics.assign(["An INVOICE, for a refund!"]) == topics.assign(["card payment"])


def test_labels_order_and_repetition_of_rows_do_not_matter() -> None:
    """The same texts give equal topics, whatever people said of them and however often they
    come.
    """
    rows, _ = about(200)
    again = [replace(row, label=1.0, id=f"{row.id}-{k}") for row in rows for k in range(2)]
    random.Random(0).shuffle(again)
    assert fit_topics(again, 3, seed=5) == fit_topics(rows, 3, seed=5)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(min_size=1, max_size=20),
            st.dictionaries(st.text(min_size=1, max_size=8), st.floats(1e-6, 1e6), max_size=5),
        ),
        max_size=4,
    ),
    st.text(max_size=60),
)
def test_topics_read_back_equal_and_assign_alike(parts: list, text: str) -> None:
    """Written as JSON and read, they are the same topics."""
    topics = Topics(field="statement", topics=tuple(Topic(name=n, weights=w) for n, w in parts))
    again = Topics.from_json(topics.to_json())
    assert again == topics
    assert again.assign([text]) == topics.assign([text])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '{"schema_version": 2, "field": "a", "topics": []}',
        '{"schema_version": 1, "field": "a", "topics": [{"name": "x", "weights": {"w": -1}}]}',
        '{"schema_version": 1, "field": "a", "topics": [{"name": "x", "weights": {"w": NaN}}]}',
    ],
)
def test_what_is_no_topics_is_refused(body: str) -> None:
    """A file of another kind or with a weight that is none."""
    with pytest.raises(DataError, match="no topics"):
        Topics.from_json(body)


def test_a_slice_by_topic_is_found_and_recomputed_once_topics_are_written_down() -> None:
    """The planted subject is confirmed; pandas gets its numbers from the column that `add_topics`
    writes.
    """
    rows, subject = about(3000, seed=1)
    weak = subject == "sea"
    judged = judged_of(rows, np.random.default_rng(2).random(3000) < np.where(weak, 0.35, 0.1))
    best = find_slices(judged, metric="accuracy", topics=3).slices[0]
    assert best.confirmed
    assert best.support == weak.sum()
    assert best.predicate.columns == ("statement:topic",)
    assert not best.predicate.mask(judged.rows).any()
    told = add_topics(judged, fit_topics(judged.rows, 3))
    assert (parse_predicate(str(best.predicate)).mask(told.rows) == weak).all()
    assert find_slices(told, metric="accuracy").slices[0].to_json() == best.to_json()
    frame = told.to_frame()
    name = str(best.predicate).partition(" = ")[2].strip('"')
    inside = pd.Series(frame["statement:topic"] == name)
    right = frame["positive"] == frame["predicted"]
    assert best.value == pytest.approx(right[inside].mean())
    assert best.rest == pytest.approx(right[~inside].mean())
    assert told.dataset.content_hash == judged.dataset.content_hash


def test_topics_are_searched_even_where_columns_are_many_and_rows_few() -> None:
    """They were asked for, so eight metadata columns do not crowd them out."""
    rows, subject = about(900, seed=3)
    rng = np.random.default_rng(0)
    rows = [
        replace(row, meta={f"c{k}": str(rng.choice(list("abcd"))) for k in range(12)})
        for row in rows
    ]
    judged = judged_of(
        rows, np.random.default_rng(2).random(900) < np.where(subject == "sea", 0.5, 0.05)
    )
    report = find_slices(judged, metric="accuracy", topics=3)
    assert any("only 8 columns" in note for note in report.notes)
    assert report.slices[0].predicate.columns == ("statement:topic",)


def test_a_field_with_few_texts_gets_no_topics() -> None:
    """Ten different texts a topic are needed; texts without a word in common have none either."""
    rows, _ = about(29)
    assert fit_topics(rows, 3) == ()
    alone = [Row(id=str(i), inputs={"statement": f"a{i}b c{i}d"}) for i in range(60)]
    assert fit_topics(alone, 3) == ()


def test_vectors_from_elsewhere_part_the_texts_and_words_still_name_them() -> None:
    """An encoder decides who belongs together; the topics that come of it need it no more."""
    rows, subject = about(300)

    def by_length(texts: list[str]) -> np.ndarray:
        return np.array(
            [[1.0, 0.0] if "boat" in t or "tide" in t or "wave" in t else [0.0, 1.0] for t in texts]
        )

    (topics,) = fit_topics(rows, 2, encode=by_length)
    assigned = topics.assign(["tide and wave", "a doctor, a nurse"])
    assert len(set(assigned)) == 2
    sea = topics.assign(
        [row.inputs["statement"] for row, s in zip(rows, subject, strict=True) if s == "sea"]
    )
    assert sea.count(assigned[0]) == len(sea)


def test_what_cannot_be_had_is_refused_with_a_way_out() -> None:
    """One topic, and a text that is not there."""
    rows, _ = about(40)
    with pytest.raises(InputError, match="two are the least"):
        fit_topics(rows, 1)
    with pytest.raises(InputError, match="'nobody'"):
        fit_topics(rows, 2, fields=["nobody"])
