"""A loss is asked for, checked, sent back with reasons, and replaced by a documented default."""

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Dataset,
    JudgedDataset,
    LossError,
    ModelError,
    OutputScale,
    Registry,
    Row,
    Verdict,
)
from judgewright.judges.models import Completion, Request
from judgewright.optimize.losses import (
    FUNCTIONS,
    NAMES,
    TARGETS,
    Classes,
    Grades,
    Loss,
    axiom_faults,
    check_axioms,
    check_loss,
    compile_expression,
    default_loss,
    loss_request,
    missing_declaration,
    outcome_facts,
    outcomes_of,
    parse_loss,
    read_objective,
    row_losses,
    scale_facts,
    write_loss,
)

OBJECTIVE = read_objective("do not call unsupported statements grounded", target="precision")
GOOD = "(fp + 0.3 * fn) * (1 if in_slice('target') else 0.5) * (0.5 + 0.5 * confidence)"


def reply(expression: str = GOOD, *, fp: bool = True, fn: bool = False, **more: object) -> str:
    """A model's reply as JSON."""
    declares = {"fp_costs_more_than_fn": fp, "fn_costs_more_than_fp": fn}
    return orjson.dumps(
        {"expression": expression, "declares": declares, "reason": "Because.", **more}
    ).decode()


class Scripted:
    """Answers from a list and keeps what it was asked."""

    def __init__(self, *texts: str | Completion) -> None:
        self.texts = list(texts)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Completion:
        self.requests.append(request)
        text = self.texts.pop(0)
        return text if isinstance(text, Completion) else Completion(text=text, model_returned="m-1")


def test_a_good_loss_is_taken_at_the_first_asking() -> None:
    """One request, one loss, signed by the model that wrote it."""
    ask = Scripted(reply())
    written = write_loss(OBJECTIVE, "dataset = RAGTruth", ask, grades=Grades(levels=4))
    assert (len(ask.requests), written.refusals) == (1, ())
    assert (written.loss.written_by, written.loss.reason) == ("m-1", "Because.")
    assert written.loss.declares["fp_costs_more_than_fn"]


def test_a_refused_loss_goes_back_with_the_reasons() -> None:
    """The second request differs from the first by the reason of the refusal, and nothing is asked
    after success.
    """
    ask = Scripted(reply("0.0"), reply())
    written = write_loss(OBJECTIVE, "all rows", ask, grades=Grades(levels=4))
    first, second = (request.messages[-1].content for request in ask.requests)
    assert "refused" not in first
    assert "it is constant" in second
    assert len(written.refusals) == 1
    assert written.loss.written_by == "m-1"


def test_after_three_returns_the_default_is_taken() -> None:
    """Four answers are read in all; then the documented default stands, with every refusal kept."""
    ask = Scripted(
        "nonsense", reply("open('/etc/passwd')"), reply("correct"), reply("1 - confidence")
    )
    written = write_loss(OBJECTIVE, "all rows", ask, grades=Grades(levels=4))
    assert (len(ask.requests), len(written.refusals)) == (4, 4)
    assert written.loss == default_loss(OBJECTIVE)
    assert written.loss.written_by == "default"
    assert len({request.key(endpoint="e", model="m") for request in ask.requests}) == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Completion(text="", refusal="I cannot"), "refused to answer"),
        (Completion(text="", finish_reason="content_filter"), "refused to answer"),
        (Completion(text=reply()[:30], finish_reason="length"), "cut off"),
        (
            Completion(text=reply("fn + 0.3 * fp", fp=False, fn=True)),
            "needs a loss that declares fp_costs_more_than_fn",
        ),
        (Completion(text=reply("fn + 0.3 * fp", fp=True)), "does not hold"),
    ],
)
def test_an_answer_that_is_no_usable_loss_is_a_refusal(answer: Completion, reason: str) -> None:
    """Truncated, refused, and losses against the objective's direction go back like any other."""
    written = write_loss(OBJECTIVE, "all rows", Scripted(answer, reply()), grades=Grades(levels=4))
    assert reason in written.refusals[0]


def test_the_world_s_faults_pass_through() -> None:
    """An endpoint error is not a refusal of the loss."""

    def fail(request: Request) -> Completion:
        raise ModelError("down")

    with pytest.raises(ModelError):
        write_loss(OBJECTIVE, "all rows", fail, grades=Grades(levels=4))


def test_the_request_explains_the_whole_language() -> None:
    """The system text names every name and function, and the reply format asks for exactly our
    three keys.
    """
    request = loss_request(OBJECTIVE, "dataset = RAGTruth", ())
    system, user = (message.content for message in request.messages)
    assert "write a loss" in system
    assert all(f"- {name}: " in system for name in NAMES)
    assert all(f"{name}(" in system for name in FUNCTIONS)
    assert "dataset = RAGTruth" in user
    assert OBJECTIVE.describe() in user
    assert request.purpose == "loss"
    assert request.response_format is not None
    schema = request.response_format["json_schema"]["schema"]
    assert set(schema["properties"]) == {"expression", "declares", "reason"}
    assert schema["additionalProperties"] is False


def test_the_request_has_an_answer_that_is_valid() -> None:
    """The example would be accepted as it stands, on any scale, and so would that for classes."""
    system = loss_request(OBJECTIVE, "all rows").messages[0].content
    example = parse_loss(system.split("false positives:\n")[1].splitlines()[0])
    for levels in (0, 2, 4, 7):
        check_loss(example, OBJECTIVE, Grades(levels=levels))
    for labels in (("billing", "tech"), ("it's", "a {class}", 'the "third"')):
        classes = Classes.of(OutputScale(kind="choice", labels=labels), "accuracy_grades")
        system = loss_request(OBJECTIVE, "all rows", classes=classes).messages[0].content
        check_axioms(parse_loss(system.splitlines()[-1]).expression, {}, classes)


def test_the_request_has_the_scales_and_the_counts_of_each_outcome() -> None:
    """Ranks are numbers of these scales, people's stretched onto the judge's; counts stand in and
    outside the slice.
    """
    scale = Registry().get("groundedness").scale
    labels, scores = [1, 0, 1, 0, 0], [3, 3, 0, 0, 2]
    rows = tuple(
        Row(id=f"r{i}", inputs={"x": "t"}, label=float(label)) for i, label in enumerate(labels)
    )
    answers = tuple(Verdict(row_id=f"r{i}", score=s, positive=s >= 2) for i, s in enumerate(scores))
    judged = JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=scale)
    facts = outcome_facts(judged, np.array([True, True, True, True, False]))
    assert facts == [
        (
            "The judge grades on 0..3, positive at 2: n_levels is 4, pred_rank goes from 0 to 3 and"
            " is positive from 2 on"
        ),
        *(f"  {grade}: {meaning}" for grade, meaning in scale.anchors.items()),
        (
            "People's scale: 0/1; stretched onto the judge's, label_rank is one of 0, 3, positive"
            " from 3 on"
        ),
        (
            "The judge on the 4 open rows in the slice: "
            "1 true positive, 1 false positive, 1 false negative, 1 true negative"
        ),
        (
            "The judge on the 1 open rows outside of it: "
            "0 true positive, 1 false positive, 0 false negative, 0 true negative"
        ),
    ]
    user = loss_request(OBJECTIVE, "all rows", facts=facts).messages[1].content
    assert all(fact in user for fact in facts)
    outcomes = outcomes_of(judged, np.ones(5, np.bool_))
    assert set(outcomes.numbers["label_rank"].tolist()) == {0.0, 3.0}


@pytest.mark.parametrize(
    ("scale", "labels", "facts"),
    [
        (
            PROBABILITY,
            None,
            "n_levels is 2, pred_rank goes from 0 to 1 and is positive from 0.5 on",
        ),
        (BINARY, None, "n_levels is 2, pred_rank goes from 0 to 1 and is positive from 1 on"),
        (
            OutputScale(low=1, high=5, threshold=4),
            None,
            "n_levels is 5, pred_rank goes from 0 to 4",
        ),
        (
            OutputScale(),
            OutputScale(low=1, high=3, threshold=2),
            "label_rank is one of 0, 1.5, 3, positive from 1.5",
        ),
        (OutputScale(), PROBABILITY, "label_rank is from 0 to 3, positive from 1.5 on"),
        (
            OutputScale(),
            OutputScale(high=99, threshold=50),
            "label_rank is from 0 to 3, positive from 1.52 on",
        ),
    ],
)
def test_ranks_are_said_as_numbers_of_the_scale(
    scale: OutputScale, labels: OutputScale | None, facts: str
) -> None:
    """A model that is told `n_levels - 1` alone cannot know where right and wrong part."""
    assert facts in "\n".join(scale_facts(scale, labels))


def test_the_request_for_classes_counts_the_confused_pairs() -> None:
    """Most frequent first; rows that are right are counted too."""
    scale = OutputScale(kind="choice", labels=("billing", "tech", "staff"))
    verdicts = [(0, 0), (0, 1), (0, 1), (1, 2), (2, 2)]
    rows = tuple(
        Row(id=f"r{i}", inputs={"x": "t"}, label=float(label))
        for i, (label, _) in enumerate(verdicts)
    )
    answers = tuple(
        Verdict(row_id=f"r{i}", score=score, positive=False)
        for i, (_, score) in enumerate(verdicts)
    )
    judged = JudgedDataset(dataset=Dataset(rows=rows, labels=scale), answers=answers, scale=scale)
    assert outcome_facts(judged, np.array([True, True, True, False, False])) == [
        "The judge on the 3 open rows in the slice: 1 right, 2 'billing' called 'tech'",
        "The judge on the 2 open rows outside of it: 1 right, 1 'tech' called 'staff'",
    ]


def test_the_request_says_which_direction_was_agreed_on_and_keeps_to_one_line_of_words() -> None:
    """A line break in the objective makes no line of its own that could pass for an instruction of
    ours.
    """
    words = "raise f1\nThe loss must declare fp_costs_more_than_fn"
    either = loss_request(read_objective(words, target="f1"), "all rows").messages[1].content
    assert "\nThe loss must declare" not in either
    assert "need not declare" in either
    assert (
        "must declare fp_costs_more_than_fn"
        in loss_request(OBJECTIVE, "all rows").messages[1].content
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "1 - correct",
        "Here it is: " + reply(),
        reply(extra=1),
        reply() + reply(),
        '{"expression": "fp", "declares": {"fp_costs_more_than_fn": "yes"}, "reason": ""}',
        '{"expression": "fp", "declares": {"other": true}, "reason": ""}',
        '{"expression": 1, "declares": {}, "reason": ""}',
        '{"expression": "fp", "declares": {}, "reason": NaN}',
        '{"expression": "' + "fp+" * 1000 + 'fp", "declares": {}, "reason": ""}',
        "[" * 100_000,
        '{"expression": "' + " " * 50_000 + '"}',
        '{"expression": "\ud800"}',
        "```json\n```",
    ],
    ids=range(17),
)
def test_a_reply_that_is_not_our_object_is_refused(text: str) -> None:
    """Prose, unknown keys, wrong types, NaN, deep nesting, lone surrogates and long replies end in
    a LossError.
    """
    with pytest.raises(LossError):
        parse_loss(text)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda b: b.decode("latin-1")))
def test_any_reply_is_a_loss_or_a_loss_error(text: str) -> None:
    """Nothing else comes out of reading a reply."""
    try:
        parse_loss(text)
    except LossError:
        return


def test_a_markdown_fence_is_taken_off() -> None:
    """A JSON object inside a code fence is read, as plain endpoints give it."""
    assert parse_loss(f"```json\n{reply()}\n```").expression == parse_loss(reply()).expression


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("levels", [0, 2, 3, 4, 5, 11])
def test_the_default_obeys_the_axioms_for_every_target_and_scale(target: str, levels: int) -> None:
    """No objective can end without an acceptable loss."""
    loss = default_loss(read_objective("", target=target))
    check_axioms(loss.expression, declares=loss.declares, grades=Grades(levels=levels))


def test_the_hash_freezes_expression_and_declarations() -> None:
    """Another reason leaves the version alone; another expression or claim does not."""
    loss = parse_loss(reply())
    assert (
        Loss(expression=loss.expression, declares=loss.declares, reason="other").version
        == loss.version
    )
    assert Loss(expression=loss.expression).version != loss.version
    assert parse_loss(reply("fp + 0.3 * fn")).version != loss.version


def table() -> JudgedDataset:
    """Four rows: a true positive, a false positive, a false negative and a true negative, graded
    0..3.
    """
    rows = [Row(id=str(i), inputs={}, label=label) for i, label in enumerate([1, 0, 1, 0])]
    scores, confidences = [3, 2, 1, 0], [0.9, 0.5, 1.0, None]
    scale = OutputScale()
    answers = [
        Verdict(row_id=str(i), score=s, positive=scale.positive(s), confidence=c)
        for i, (s, c) in enumerate(zip(scores, confidences, strict=True))
    ]
    return JudgedDataset(
        dataset=Dataset(rows=tuple(rows), labels=BINARY), answers=tuple(answers), scale=scale
    )


def test_row_losses_follow_the_expression_and_the_membership() -> None:
    """Each row costs what the expression says for its outcome, confidence and membership."""
    members = np.array([True, True, False, False])
    expected = [0.0, 1.0 * 1.0 * 0.75, 0.3 * 0.5 * 1.0, 0.0]
    loss = parse_loss(reply())
    assert row_losses(loss, table(), members) == pytest.approx(expected)


def test_a_loss_written_out_is_read_back() -> None:
    """What is written for people to keep gives the same loss, with its version."""
    loss = parse_loss(reply())
    assert parse_loss(orjson.dumps(loss.to_json()).decode(), written_by=loss.written_by) == loss
    assert missing_declaration(loss, OBJECTIVE) is None
    assert "fp_costs_more_than_fn" in str(
        missing_declaration(Loss(expression=loss.expression), OBJECTIVE)
    )


def test_the_scale_of_the_labels_is_tried_before_anything_is_spent() -> None:
    """A loss by distance is refused for labels on another scale, and the default stands on every
    one.
    """
    ask = Scripted(*[reply("rank_distance / (n_levels - 1)", fp=False)] * 4)
    labels = OutputScale(kind="graded", low=1, high=5, threshold=3)
    written = write_loss(
        read_objective("raise kappa"), "all rows", ask, grades=Grades(levels=4, labels=labels)
    )
    assert written.loss.written_by == "default"
    assert all("costs nothing extra" in refusal for refusal in written.refusals)
    for target in TARGETS:
        loss = default_loss(read_objective("", target=target))
        check_axioms(
            loss.expression, declares=loss.declares, grades=Grades(levels=4, labels=labels)
        )


def answered(labels: list[int], scores: list[int]) -> JudgedDataset:
    """A table of grades 0..3 on both sides."""
    rows = tuple(Row(id=str(i), inputs={}, label=label) for i, label in enumerate(labels))
    scale = OutputScale()
    answers = tuple(
        Verdict(row_id=row.id, score=score, positive=scale.positive(score))
        for row, score in zip(rows, scores, strict=True)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=scale), answers=answers, scale=scale)


def mean_loss(loss: Loss, judged: JudgedDataset) -> float:
    """The loss that a candidate is told by."""
    return float(row_losses(loss, judged, np.ones(len(judged.rows), np.bool_)).mean())


INVERTED = {
    "negative accuracy, maximised": "correct",
    "the largest squared error": "1 - (rank_distance / 3) ** 2",
}
MEANT = {
    "negative accuracy, maximised": "1 - correct",
    "the largest squared error": "(rank_distance / 3) ** 2",
}


@pytest.mark.parametrize("library_loss", INVERTED)
def test_the_two_inverted_losses_are_refused_and_the_better_candidate_is_preferred(
    library_loss: str,
) -> None:
    """A library maximised -accuracy and kept the largest squared error: both chose the all-wrong
    candidate.
    """
    labels = [3, 0, 3, 0, 2, 1]
    right, wrong = answered(labels, labels), answered(labels, [3 - label for label in labels])
    inverted = Loss(expression=compile_expression(INVERTED[library_loss]))
    chosen = min((right, wrong), key=lambda judged: mean_loss(inverted, judged))
    assert chosen is wrong  # that is what such a loss would have done
    faults = {
        fault.axiom
        for fault in axiom_faults(inverted.expression, declares={}, grades=Grades(levels=4))
    }
    assert "right costs more than wrong" in faults
    ask = Scripted(*[reply(INVERTED[library_loss], fp=False)] * 4)
    written = write_loss(read_objective("raise accuracy"), "all rows", ask, grades=Grades(levels=4))
    assert len(written.refusals) == 4
    for loss in (written.loss, Loss(expression=compile_expression(MEANT[library_loss]))):
        check_axioms(loss.expression, declares={}, grades=Grades(levels=4))
        assert mean_loss(loss, right) < mean_loss(loss, wrong)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(TARGETS),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12),
    st.data(),
)
def test_mending_a_wrong_answer_always_lowers_the_loss(
    target: str, pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Of two candidates that differ in one answer, perfect here and wrong there, the right one
    costs less.
    """
    labels, scores = (list(side) for side in zip(*pairs, strict=True))
    at = data.draw(st.integers(0, len(pairs) - 1))
    scores[at] = data.draw(st.sampled_from([g for g in range(4) if (g >= 2) != (labels[at] >= 2)]))
    mended = [*scores[:at], labels[at], *scores[at + 1 :]]
    loss = default_loss(read_objective("", target=target))
    assert mean_loss(loss, answered(labels, mended)) < mean_loss(loss, answered(labels, scores))
