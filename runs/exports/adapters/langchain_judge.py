"""The judge in `judge.json` as a chain of LangChain, and its chat prompt for LangSmith."""

import sys
from pathlib import Path

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


def prompt():
    """Return the judge's chat prompt with fixed tags as fences; its variables are the row's
    fields.
    """
    messages = JUDGE.open_messages(
        literal=lambda text: text.replace("{", "{{").replace("}", "}}"),
        field=lambda name: f"{{{name}}}",
    )
    return ChatPromptTemplate([(one["role"], one["content"]) for one in messages])


class DecisionClient:
    """`OpenAIDecisions` as the client that a judge of decision models asks."""

    def __init__(self, model):
        self.model = model

    def post(self, path, *, cast_to, body):
        """Ask, and return the answers as the endpoint words them."""
        from langchain_openai.decisions import Choice, Predicate, Score

        types, questions = {"predicate": Predicate, "choice": Choice, "score": Score}, {}
        for one in body["questions"]:
            choices = {label["value"]: label.get("description") for label in one.get("choices", ())}
            questions[one["name"]] = types[one["type"]](**{**one, "choices": choices})
        response = self.model.invoke({"input": body["input"], "questions": questions})
        answers = [answer.model_dump() for answer in response.answers.values()]
        for answer in answers:
            shares = answer.get("probabilities")
            if labels := answer.get("legend"):
                answer["probabilities"] = {labels[place]: share for place, share in shares.items()}
        return {"answers": answers}


def judge(model, **parameters):
    """Return a runnable from a row's fields to its verdict; it raises ValueError where the reply
    gives no grade, and such a row has no score, not a zero.

    Args:
        model: A chat model; `OpenAIDecisions` where the judge asks a decision model.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
    """
    if JUDGE.asks_question:
        client = DecisionClient(model)
        return RunnableLambda(lambda row: verdict(*JUDGE.ask(client, model.model, row, parameters)))
    asking = model.bind(**JUDGE.settings(**parameters))
    reading = RunnableLambda(lambda message: verdict(*JUDGE.read_message(message)))
    return RunnableLambda(JUDGE.messages) | asking | reading


def verdict(score, reasons):
    """Return score, decision and reasons as LangSmith takes feedback."""
    return {
        "key": JUDGE.name,
        "score": score,
        "positive": JUDGE.positive(score),
        "comment": reasons,
        "version": JUDGE.version,
    }


def push(name=JUDGE.name, *, client=None, **options):
    """Push the prompt to LangSmith and return its URL; a new one is private unless `is_public=True`
    is given.
    """
    from langsmith import Client

    described = {"tags": ["judgewright"], "commit_description": JUDGE.origin[:1000]}
    return (client or Client()).push_prompt(name, object=prompt(), **described | options)
