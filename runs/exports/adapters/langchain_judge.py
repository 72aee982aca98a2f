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


def judge(model, **parameters):
    """Return a runnable from a row's fields to its verdict.

    Args:
        model: A chat model.
        parameters: What the request says otherwise than the judge does; None leaves a part of it
            out.
    """
    asking = model.bind(**JUDGE.settings(**parameters))
    return RunnableLambda(JUDGE.messages) | asking | RunnableLambda(verdict)


def verdict(message):
    """Return score, decision and reasons of a reply.

    Raises:
        ValueError: It gives no grade; such a row has no score, not a zero.
    """
    score, reasons = JUDGE.read_message(message)
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
