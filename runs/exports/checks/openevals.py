"""Ask with an openevals export through LangChain's model and OpenAI's client: `openevals.py EXPORT
CASES ANSWER`.
"""

import os
from importlib.metadata import version

from script_shared import ask_cases, load_module, read_cases, write_answer

os.environ["LANGSMITH_TRACING"] = "false"

import openai
from langchain_openai import ChatOpenAI


def main():
    """Check the evaluator with both kinds of model."""
    folder, cases = read_cases()
    module = load_module(folder, "*.py")

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

    outcomes = ask_cases(cases, ask_langchain)
    notes = ["asked through a LangChain chat model and through an OpenAI client"]
    problems = []
    for number, (one, other) in enumerate(
        zip(outcomes, ask_cases(cases, ask_client), strict=True), start=1
    ):
        if one["score"] != other["score"]:
            through = (
                f"{one['score']} through a LangChain model and {other['score']} through an OpenAI"
                " client"
            )
            problems.append(f"case {number} is scored {through}")
    write_answer(f"openevals {version('openevals')}", notes, outcomes=outcomes, problems=problems)


main()
