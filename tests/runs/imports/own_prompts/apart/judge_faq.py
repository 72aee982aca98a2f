"""Grade FAQ bot answers against the reference answers in faq_gold.csv.

usage: python judge_faq.py runs/2025-03-02.jsonl
"""
import csv
import json
import sys

from openai import OpenAI

client = OpenAI()
MODEL = "gpt-4o-mini"

JUDGE_PROMPT = """\
You are grading a customer service bot of a mobile phone provider.

Question:
{question}

Reference answer (written by the support team, treat as true):
{reference}

Bot answer:
{response}

Is the bot answer correct? It is correct if it agrees with the reference on everything
the customer needs to act on. Extra information is fine as long as it does not contradict
the reference. An answer that only refers to the hotline is not correct.

Return a JSON object like this:
{{"explanation": "why, one sentence", "correct": true}}
"correct" must be true or false.
"""


def load_gold(path="faq_gold.csv"):
    with open(path, newline="", encoding="utf-8") as f:
        return {row["id"]: row for row in csv.DictReader(f)}


def grade(question, reference, response):
    prompt = JUDGE_PROMPT.format(question=question, reference=reference, response=response)
    out = client.chat.completions.create(
        model=MODEL,
        temperature=0,
        response_format={"type": "json_object"},
        messages=[{"role": "user", "content": prompt}],
    )
    return json.loads(out.choices[0].message.content)["correct"]


if __name__ == "__main__":
    gold = load_gold()
    hits = total = 0
    for line in open(sys.argv[1], encoding="utf-8"):
        item = json.loads(line)
        g = gold[item["id"]]
        hits += grade(g["question"], g["answer"], item["response"])
        total += 1
    print(f"accuracy: {hits}/{total}")
