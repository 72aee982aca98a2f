import csv
import os

import pytest
from anthropic import Anthropic

from benefits_bot import answer_question

CASES = list(csv.DictReader(open(os.path.join(os.path.dirname(__file__), "cases.csv"))))
client = Anthropic()


def build_judge_prompt(question: str, expected: str, actual: str) -> str:
    return f"""You are checking answers of a government chatbot about housing benefit.

Question from a citizen:
{question}

Answer written by a caseworker (treat this as true):
{expected}

Answer of the chatbot:
{actual}

The chatbot's answer is correct if a citizen who follows it would do the same thing and expect the same amount as with the caseworker's answer. Different wording, extra links and extra politeness are fine. If an amount, deadline, form number or eligibility rule differs, it is incorrect. "Please contact your local office" instead of an answer is incorrect, too.

Explain your decision in at most three sentences. The last word of your reply must be CORRECT or INCORRECT."""


def ask_judge(prompt: str) -> str:
    msg = client.messages.create(
        model="claude-3-5-sonnet-20241022",
        max_tokens=400,
        messages=[{"role": "user", "content": prompt}],
    )
    return msg.content[0].text.strip()


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_answer(case):
    actual = answer_question(case["question"])
    verdict = ask_judge(build_judge_prompt(case["question"], case["expected"], actual))
    assert verdict.rstrip(".").split()[-1] == "CORRECT", verdict
