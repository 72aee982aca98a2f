"""What the simulated model decides of typed questions."""

import asyncio
import json

from judgewright.judges import Registry, Row, Simulated
from judgewright.judges.asked_question import AskedQuestion
from judgewright.judges.models import Request
from judgewright.judges.models.question import Option, Question
from judgewright.runs.demo import demo_rows

YES_NO = Question(kind="yes_no", instructions="Is it so?", options=(Option("no"), Option("yes")))


def test_the_texts_of_a_state_are_read_by_their_names() -> None:
    """An object and the fenced fields of a rendered prompt are the same two texts; of none at all
    nothing can be said.
    """
    fields = {"source": "The shop opens at 9.", "statement": "The shop opens at 9."}
    fenced = "\n".join(
        f"<{name}-00ff00ff>\n{text}\n</{name}-00ff00ff>" for name, text in fields.items()
    )
    decide = Simulated().decide
    supported, unsupported = (
        decide(YES_NO, fields),
        decide(YES_NO, {**fields, "statement": "Dogs."}),
    )
    assert supported == decide(YES_NO, fenced)
    assert unsupported[1] < 0.5 < supported[1]
    assert decide(YES_NO, {}) == (0.5, 0.5)


def test_the_likeliest_grade_is_the_one_that_the_simulated_judge_writes() -> None:
    """On nine rows of ten; a prompt asks for the form of a reply too, which a question does not."""
    prompt, model = Registry().get("groundedness"), Simulated()
    question, same = AskedQuestion(prompt=prompt, api="decisions").question, []
    for row in demo_rows(documents=8):
        inputs = {name: row[name] for name in prompt.inputs}
        messages = tuple(prompt.messages(Row(id="1", inputs=inputs)))
        reply = asyncio.run(model.complete(Request(messages=messages, temperature=0.0)))
        shares = model.decide(question, inputs)
        same.append(json.loads(reply.text)["score"] == shares.index(max(shares)))
    assert sum(same) >= 0.9 * len(same)
