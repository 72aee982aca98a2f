import os, sys, json
from openai import OpenAI

client = OpenAI()
MODEL = os.environ.get("JUDGE_MODEL", "gpt-4.1-mini")


def build_prompt(question, answer):
    # NB: answer relevance only. no context on purpose, otherwise the judge starts fact checking
    return f"""Decide if the answer responds to the question that was asked.

<question>{question}</question>
<answer>{answer}</answer>

It is relevant when somebody who asked this question would not need to ask again.
- wrong facts do not make it irrelevant, we check these in another step
- an answer to a neighbouring question (asked: opening hours of the pool, answered: ticket prices) is not relevant
- "I don't know, please call 115" is relevant ONLY if the number or office for this matter is named
- ignore language mistakes, many of our users write in their second language

Output a JSON object and nothing else:
{{"relevant": true, "why": "short"}}
where relevant is true or false (a JSON boolean, no string!!)
"""


def run(path):
    n = ok = 0
    for line in open(path):
        row = json.loads(line)
        r = client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": build_prompt(row["question"], row["answer"])}],
            temperature=0,
        )
        out = json.loads(r.choices[0].message.content)
        n += 1
        ok += bool(out["relevant"])
    print(f"{ok}/{n} relevant")


if __name__ == "__main__":
    run(sys.argv[1])
