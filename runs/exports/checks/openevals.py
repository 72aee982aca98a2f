"""Ask with an openevals export through LangChain's model and OpenAI's client: `openevals.py EXPORT
CASES ANSWER`.
"""

import os
from importlib.metadata import version

from script_shared import ask_both_ways, ask_cases, load_module, read_cases, write_answer

os.environ["LANGSMITH_TRACING"] = "false"

import openai
from langchain_openai import ChatOpenAI


def main():
    """Check the evaluator with both kinds of model."""
    folder, cases = read_cases()
    module = load_module(folder, "*_openevals.py")

    def outcome(feedback):
        return feedback["score"], feedback["metadata"]["positive"]

    def ask_client(url, row):
        return outcome(
            module.evaluator(openai.OpenAI(api_key="none", base_url=url), model=cases["model"])(
                **row
            )
        )

    def ask_langchain(url, row):
        return outcome(
            module.evaluator(ChatOpenAI(model=cases["model"], base_url=url, api_key="none"))(**row)
        )

    ways = "a LangChain chat model", "an OpenAI client"
    if module.JUDGE.asks_question:
        outcomes, problems, notes = ask_cases(cases, ask_client), [], []
    else:
        outcomes, problems = ask_both_ways(cases, ask_langchain, ask_client, ways)
        notes = [f"asked through {ways[0]} and through {ways[1]}"]
    write_answer(f"openevals {version('openevals')}", notes, outcomes=outcomes, problems=problems)


main()
