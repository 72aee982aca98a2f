"""Prompts for the warranty assistant (prod + offline eval)."""
from __future__ import annotations

import json
import re

from .llm import complete  # thin wrapper, retries inside

# --------------------------------------------------------------------------
# production prompt, NOT a judge
# --------------------------------------------------------------------------
ANSWER_PROMPT = """You are the warranty assistant of a bicycle maker.
Answer only from the documents below. If the documents do not contain the answer, say so and give the service number.
Keep it under 120 words.

Documents:
{context}

Customer: {question}
"""

# --------------------------------------------------------------------------
# offline eval
# --------------------------------------------------------------------------
FAITHFULNESS_JUDGE = """\
You compare the answer of a warranty assistant with the documents it had.

Question: {question}

Documents:
{context}

Answer:
{answer}

Split the answer into single claims. A claim is supported if a document states it or it follows directly from one document.
Combining two documents is allowed only when both talk about the same model year.
Promises of free repair or replacement that no document makes weigh double.
Do not use your own knowlege about bicycles.

score = share of supported claims, from 0.0 (none) to 1.0 (all of them). If there are no claims at all, use 1.0.

Return only JSON, like this:
{{"score": 0.75, "reason": "one or two sentences"}}
"""

# below this the PR check goes red
FAITHFULNESS_MIN = 0.7


def judge_faithfulness(question: str, context: str, answer: str) -> tuple[float, str]:
    raw = complete(FAITHFULNESS_JUDGE.format(question=question, context=context, answer=answer))
    m = re.search(r"\{.*\}", raw, re.S)
    data = json.loads(m.group(0)) if m else {"score": 0.0, "reason": "unparseable"}
    return float(data["score"]), data["reason"]
