"""The language refuses everything but arithmetic on outcomes, and evaluates that as NumPy would."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Dataset,
    JudgedDataset,
    LossError,
    OutputScale,
    Row,
    Unscored,
    Verdict,
)
from judgewright.optimize.losses import (
    FUNCTIONS,
    NAMES,
    Grades,
    Outcomes,
    check_axioms,
    compile_expression,
    outcomes_of,
)

HOSTILE = {
    "import": "__import__('os').system('id')",
    "import statement": "import os",
    "dunder walk": "().__class__.__bases__[0].__subclasses__()",
    "string dunder walk": "''.__class__.__mro__[1].__subclasses__()",
    "name dunder": "fp.__class__",
    "format": "'{0.__class__.__init__.__globals__}'.format(fp)",
    "f-string": "f'{fp.__class__}'",
    "percent format": "'%s' % fp",
    "printf bomb": "printf('%999999999d', 1)",
    "generator frame": "(g for g in [0]).gi_frame.f_back.f_globals",
    "lambda": "(lambda: 1)()",
    "walrus": "(x := 1.0)",
    "open": "open('/etc/passwd').read()",
    "globals": "globals()['__builtins__']",
    "eval": "eval('1')",
    "getattr": "getattr(fp, '__class__')",
    "power tower": "9**9**9**9",
    "nested powers": "((1000000**4)**4)**9",
    "negative power": "fp**-1",
    "fractional power": "fp**0.5",
    "huge shift": "1<<1000000000",
    "400-digit constant": "9" * 400,
    "5,000-digit constant": "9" * 5000,
    "constant over the limit": "1000001 * fp",
    "endless comprehension": "[x for x in iter(int, 1)]",
    "eight-deep map": (
        "[0].map(a,[0].map(b,[0].map(c,[0].map(d,[0].map(e,[0].map(f,[0].map(g,[0].map(h,1))))))))"
    ),
    "10 GB string": "'a' * 10000000000",
    "list bomb": "[0] * 10000000000",
    "tuple": "(fp, fn)",
    "5,000 parentheses": "(" * 5000 + "fp" + ")" * 5000,
    "900 parentheses": "(" * 900 + "fp" + ")" * 900,
    "50,000 minus signs": "-" * 50_000 + "fp",
    "1,900 minus signs": "-" * 1_900 + "fp",
    "20,000 nots": "not " * 20_000 + "fp",
    "490 nots": "not " * 490 + "fp",
    "200,000 terms": "+".join(["fp"] * 200_000),
    "600 terms": "+".join(["fp"] * 600),
    "wide calls": (
        "max("
        + ",".join(["max(fp,fn,tp,tn,fp,fn,tp,tn)"] * 8)
        + ")"
        + "+max(fp,fn,tp,tn,fp,fn,tp,tn)" * 18
    ),
    "text": "'high'",
    "None": "None",
    "True": "True",
    "complex": "1j * fp",
    "hexadecimal": "0x10",
    "number glued to a keyword": "1if fp else 0",
    "fullwidth letters": "\uff46\uff50",
    "fullwidth parenthesis": "abs\uff08fp\uff09",
    "Cyrillic o": "c\u043errect",
    "zero width": "f\u200bp",
    "bidi override": "\u202efp",
    "NUL": "fp\x00",
    "escape character": "\x1b[2Jfp",
    "ReDoS": "matches(rationale, '(a+)+$')",
    "load_extension": "load_extension('/tmp/x.so')",
    "randomblob": "randomblob(1000000000)",
    "recursive CTE": (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
    ),
    "sqlite_master": "(SELECT sql FROM sqlite_master)",
    "readfile": "readfile('/etc/passwd')",
    "row text": "source",
    "statement text": "len(statement)",
    "slice by expression": "in_slice(fp)",
    "keyword argument": "min(fp, default=fn)",
    "star argument": "max(*fp)",
    "floor division": "fp // fn",
    "modulo": "fp % 2",
    "matrix product": "fp @ fn",
    "identity": "fp is fn",
    "membership": "fp in (0, 1)",
    "bitwise": "fp & fn",
    "assignment": "fp = 0",
    "two statements": "fp; fn",
    "comment": "fp # fn",
    "line continuation": "fp \\\n + fn",
    "await": "await fp",
    "yield": "(yield fp)",
    "empty": "   ",
    "dangling": "fp +",
}
"""Refused by the language itself."""

HOSTILE_VALUES = {
    "NaN": "log(0 - 1)",
    "infinity": "exp(1000)",
    "infinity minus infinity": "exp(1000) - exp(1000)",
    "division by zero": "1 / 0",
    "zero by zero on some rows": "fp / fp",
    "five": "5.0",
    "minus three": "-3.0",
    "root of a negative": "sqrt(correct - 1 - 0.5)",
    "overflowing power": "((1000000 ** 4) ** 4) ** 4",
    "constant zero": "0.0",
    "constant half": "0.5",
    "constant in disguise": "correct * 0.5 + (1 - correct) * 0.5",
    "inverted confidence": "1 - confidence",
    "wrong answers forgiven when sure": "(1 - correct) * (1 - 0.5 * confidence)",
    "zero on one slice": "0 if in_slice('target') else 1 - correct",
    "zero outside one slice": "in_slice('target') * (1 - correct)",
    "false positives and negatives swapped": "0.4 * fp + fn",
    "zero when hesitant": "(fp + 0.5 * fn) * (confidence > 0.5)",
    "zero in a narrow band": "(fp + 0.5 * fn) * (confidence < 0.7199 or confidence > 0.7201)",
    "fires at one grade only": "(fp + 0.5 * fn) * (label_rank == 2)",
    "blind to false negatives": "fp",
    "blind to false positives": "fn",
    "blind to near misses": "(fp + 0.5 * fn) * (rank_distance > 1)",
    "negative accuracy, maximised": "1 - (1 - correct)",
    "largest squared error chosen": "1 - (rank_distance / (n_levels - 1)) ** 2",
    "correct answers taxed": "0.6 + 0.4 * (1 - correct)",
    "rewards one class": "prediction * 0.5 + (1 - correct) * 0.01",
    "vanishing": "(fp + 0.5 * fn) * 0.000001",
}
"""Inside the language, refused by the axioms for an objective against false positives."""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused_by_the_language(text: str) -> None:
    """Whatever is not arithmetic on outcomes ends in a LossError, and is not quoted at length."""
    with pytest.raises(LossError) as refusal:
        compile_expression(text)
    assert len(str(refusal.value)) < 400
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("text", HOSTILE_VALUES.values(), ids=HOSTILE_VALUES.keys())
def test_a_hostile_loss_inside_the_language_is_refused_by_the_axioms(text: str) -> None:
    """What the language lets through and would mislead the optimization is refused with a
    reason.
    """
    expression = compile_expression(text)
    with pytest.raises(LossError):
        check_axioms(expression, declares={"fp_costs_more_than_fn": True}, grades=Grades(levels=4))


def grid(n: int = 60, seed: int = 0) -> Outcomes:
    """Made-up outcomes of a 0..3 judge with one slice."""
    rng = np.random.default_rng(seed)
    human, judge = rng.integers(0, 4, n), rng.integers(0, 4, n)
    return Outcomes.of_grades(
        label=(human >= 2).astype(np.float64),
        prediction=(judge >= 2).astype(np.float64),
        label_rank=human.astype(np.float64),
        pred_rank=judge.astype(np.float64),
        confidence=rng.random(n),
        n_levels=4,
        inside=rng.random(n) < 0.5,
    )


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("1 - correct", lambda r: 1 - r["correct"]),
        ("fp + 0.4 * fn", lambda r: r["fp"] + 0.4 * r["fn"]),
        (
            "0.5 if label == prediction == 1 else 0",
            lambda r: 0.5 if r["label"] == r["prediction"] == 1 else 0,
        ),
        ("0 < confidence <= 0.5 < 1", lambda r: 0 < r["confidence"] <= 0.5 < 1),
        (
            "not (fp or fn) and confidence > .5",
            lambda r: not (r["fp"] or r["fn"]) and r["confidence"] > 0.5,
        ),
        (
            "min(1, rank_distance / 3, confidence)",
            lambda r: min(1, r["rank_distance"] / 3, r["confidence"]),
        ),
        ("max(tp, tn, 1e-2)", lambda r: max(r["tp"], r["tn"], 1e-2)),
        (
            "clip(label_rank - pred_rank, 0, 1)",
            lambda r: min(max(r["label_rank"] - r["pred_rank"], 0), 1),
        ),
        (
            "abs(label_rank - pred_rank) ** 2 / n_levels ** 2",
            lambda r: (r["label_rank"] - r["pred_rank"]) ** 2 / 16,
        ),
        ("sqrt(confidence)", lambda r: math.sqrt(r["confidence"])),
        (
            "-log(max(confidence, 0.5)) / log(2)",
            lambda r: -math.log(max(r["confidence"], 0.5)) / math.log(2),
        ),
        ("exp(-rank_distance)", lambda r: math.exp(-r["rank_distance"])),
        ("in_slice('target') * (1 - correct)", lambda r: r["target"] * (1 - r["correct"])),
        ('+(in_slice("target") != 0)\n', lambda r: r["target"]),
        ("abstained", lambda r: 0.0),
        ("1 / 0 if fp > 1 else .25", lambda r: 0.25),
    ],
)
def test_an_expression_means_on_columns_what_it_means_on_one_row(text: str, reference) -> None:
    """Every construct of the language agrees with plain Python arithmetic, row by row."""
    rows = grid()
    columns = {**rows.numbers, "target": rows.inside}
    expected = [
        float(reference({name: float(column[i]) for name, column in columns.items()}))
        for i in range(len(rows))
    ]
    assert compile_expression(text).evaluate(rows) == pytest.approx(expected)


def test_a_value_outside_the_range_names_the_rows() -> None:
    """The error counts the bad rows and describes the first one."""
    rows = grid()
    wrong = int((rows.numbers["fp"] == 1).sum())
    with pytest.raises(
        LossError, match=rf"on {wrong} of 60 rows, for example 5 for: false positive, confidence"
    ):
        compile_expression("5 * fp").evaluate(rows)


def test_the_version_depends_on_the_meaning_and_not_on_the_spacing() -> None:
    """Spaces and redundant parentheses leave the hash alone; a changed constant does not."""
    one, same = compile_expression("fp+0.4*fn"), compile_expression(" (fp) + (0.4 * fn)\n")
    assert one.version == same.version
    assert one == same
    assert str(one) == "fp + 0.4 * fn"
    assert compile_expression("fp+0.5*fn").version != one.version


def test_an_unknown_name_is_answered_with_a_near_one() -> None:
    """A typing error is told with what was probably meant."""
    with pytest.raises(LossError, match=r"'confidense'.*confidence"):
        compile_expression("confidense * fp")


def table(
    label_scale: OutputScale, judge_scale: OutputScale, pairs, confidence=None
) -> JudgedDataset:
    """A judged table from (label, score) pairs, with one unscored row at the end."""
    rows = [Row(id=str(i), inputs={}, label=label) for i, (label, _) in enumerate(pairs)]
    answers = [
        Verdict(
            row_id=str(i), score=score, positive=judge_scale.positive(score), confidence=confidence
        )
        for i, (_, score) in enumerate(pairs)
    ]
    rows.append(Row(id="last", inputs={}, label=1.0))
    dataset = Dataset(rows=tuple(rows), labels=label_scale)
    return JudgedDataset(
        dataset=dataset,
        answers=(*answers, Unscored(row_id="last", reason="parse")),
        scale=judge_scale,
    )


def test_a_binary_label_takes_the_outermost_ranks_of_a_graded_judge() -> None:
    """0 becomes the lowest and 1 the highest rank; unscored rows are absent and missing confidence
    is certainty.
    """
    judged = table(
        BINARY, OutputScale(low=1, high=4, threshold=3), [(0, 1), (0, 4), (1, 3), (1, 2)]
    )
    found = outcomes_of(judged, np.array([True, False, True, False]))
    assert found.numbers["label_rank"].tolist() == [0, 0, 3, 3]
    assert found.numbers["pred_rank"].tolist() == [0, 3, 2, 1]
    assert found.numbers["fp"].tolist() == [0, 1, 0, 0]
    assert found.numbers["fn"].tolist() == [0, 0, 0, 1]
    assert found.numbers["rank_distance"].tolist() == [0, 3, 1, 2]
    assert found.numbers["confidence"].tolist() == [1, 1, 1, 1]
    assert found.numbers["n_levels"].tolist() == [4] * 4


def test_equal_scales_keep_their_ranks_exactly() -> None:
    """A grade of the same scale is its rank, without rounding."""
    scale = OutputScale(low=0, high=49, threshold=25)
    judged = table(scale, scale, [(g, 49 - g) for g in range(50)], confidence=0.25)
    found = outcomes_of(judged, np.zeros(50, np.bool_))
    assert found.numbers["label_rank"].tolist() == list(range(50))
    assert found.numbers["confidence"].tolist() == [0.25] * 50


def test_a_probability_scale_ranks_from_zero_to_one() -> None:
    """Without levels the probability itself is the rank."""
    found = outcomes_of(table(BINARY, PROBABILITY, [(1, 0.25)]), np.zeros(1, np.bool_))
    names = ("label_rank", "pred_rank", "n_levels")
    assert [found.numbers[name][0] for name in names] == [1.0, 0.25, 2]


def test_membership_of_the_wrong_length_is_refused() -> None:
    """A slice must cover the scored rows, not all rows."""
    with pytest.raises(LossError, match="4 scored rows"):
        outcomes_of(table(BINARY, BINARY, [(0, 1)] * 4), np.ones(5, np.bool_))


ATOMS = st.sampled_from([*NAMES, "0", "1", "0.5", ".25", "3", "in_slice('target')"])
TREES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "<", "<=", "==", "!=", "and", "or"]), inner
        ).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"(not {t})"),
        inner.map(lambda t: f"sqrt({t})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_a_generated_expression_gives_values_in_range_or_a_loss_error(text: str) -> None:
    """Whatever the language accepts is in [0, 1] on every row, or refused; its canonical text means
    the same.
    """
    expression = compile_expression(text)
    assert compile_expression(str(expression)).version == expression.version
    try:
        values = expression.evaluate(grid())
    except LossError:
        return
    assert np.all((values >= 0) & (values <= 1))


SEEDS = [
    "(fp + 0.4 * fn) * (1 if in_slice('target') else 0.6) * (0.6 + 0.4 * confidence)",
    "0.5 * (1 - correct) + 0.5 * rank_distance / (n_levels - 1)",
    "clip(abs(label_rank - pred_rank) ** 2 / (n_levels - 1) ** 2, 0, 1)",
    "max(fp, min(fn, 0.5), sqrt(confidence) * fp)",
    "-log(max(confidence, 0.01)) / 10 if correct else exp(confidence) / 3",
    "0 <= confidence < 1 and not (tp or tn)",
    *NAMES,
    *FUNCTIONS,
    *[text for text in HOSTILE.values() if len(text) < 200],
]


def test_a_saved_slice_is_a_column_of_its_own() -> None:
    """By its name; one that is not there, and more than three, are refused."""
    rows = Row(id="a", inputs={}, label=1.0), Row(id="b", inputs={}, label=1.0)
    dataset = Dataset(rows=rows, labels=BINARY, name="d")
    answers = tuple(
        Verdict(row_id=row.id, score=0.0, confidence=0.5, positive=False, rationale="")
        for row in rows
    )
    judged = JudgedDataset(dataset=dataset, judge="j", scale=BINARY, answers=answers)
    outcomes = outcomes_of(judged, np.array([False, False]))
    expression = compile_expression("(1 - correct) * (1 if in_slice('long') else 0.5)")
    assert expression.slices == ("long",)
    assert expression.evaluate(outcomes, {"long": np.array([True, False])}).tolist() == [1.0, 0.5]
    with pytest.raises(LossError, match=r"there is no slice 'long'; there is: target, short"):
        expression.evaluate(outcomes, {"short": np.array([True, False])})
    with pytest.raises(LossError, match="names 4 saved slices; 3 are allowed"):
        compile_expression(" + ".join(f"in_slice('s{i}')" for i in range(4)))
