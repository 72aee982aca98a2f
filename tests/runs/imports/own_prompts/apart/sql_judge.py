"""Offline evaluation of the text-to-SQL assistant for the claims warehouse."""
from __future__ import annotations

import json
import logging
import re

import pandas as pd
from openai import OpenAI

log = logging.getLogger(__name__)
client = OpenAI()

MAX_ROWS = 20
MODEL = "gpt-4o-2024-08-06"

SQL_JUDGE_PROMPT = """You are a senior data engineer at an insurance company. Decide how well a generated SQL query answers an analyst's question.

Schema:
{schema}

Question:
{question}

Reference query (one correct way, others are possible):
{gold_sql}

Generated query:
{pred_sql}

First rows of the result of the generated query:
{result}

Rating:
5 - returns exactly what was asked
4 - right rows, but superfluous columns or odd ordering
3 - right idea, but an edge case is wrong (NULL handling, open claims, inclusive dates)
2 - wrong join or wrong filter, the numbers are misleading
1 - does not run or answers another question

Note that jsonb columns may be read with payload->'$.{{key}}' in the old views, this is not a mistake.

Reply with JSON only:
{{"analysis": "<at most 80 words>", "rating": <1-5>}}
"""


def judge(row: pd.Series, schema: str) -> dict:
    prompt = SQL_JUDGE_PROMPT.format(
        schema=schema,
        question=row["question"],
        gold_sql=row["gold_sql"],
        pred_sql=row["pred_sql"],
        result=row["result"][:MAX_ROWS],
    )
    res = client.chat.completions.create(
        model=MODEL,
        temperature=0,
        messages=[{"role": "user", "content": prompt}],
    )
    text = res.choices[0].message.content
    match = re.search(r"\{.*\}", text, re.S)
    if not match:
        log.warning("no JSON in reply: %s", text[:200])
        return {"rating": None}
    return json.loads(match.group(0))


if __name__ == "__main__":
    df = pd.read_parquet("eval/claims_questions.parquet")
    schema = open("eval/schema.sql").read()
    df["rating"] = [judge(r, schema)["rating"] for _, r in df.iterrows()]
    print(f"mean rating: {df['rating'].mean():.2f} over {len(df)} questions")
