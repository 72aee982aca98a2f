"""Evaluate answers of the FAQ bot."""

import json

from openai import OpenAI

MODEL = "gpt-4o-mini"
client = OpenAI()


def judge(question: str, context: str, answer: str) -> dict:
    prompt = f"""You are an expert evaluator for a retrieval augmented FAQ bot.

Evaluate the answer by these criteria:
- Faithfulness: the answer only contains information found in the context.
- Completeness: nothing important from the context that the question asks for is missing.

Question: {question}
Context: {context}
Answer: {answer}

Respond ONLY with valid JSON like {{"score": 4, "justification": "..."}} where score is an integer between 1 and 5."""  # noqa: E501
    reply = client.chat.completions.create(
        model=MODEL, temperature=0, messages=[{"role": "user", "content": prompt}]
    )
    return json.loads(reply.choices[0].message.content)
