"""Evaluate with an export for Braintrust over the OpenAI client, without logs: `braintrust.py
EXPORT CASES ANSWER`.
"""

import asyncio
import logging
import os
from importlib.metadata import version

from script_shared import ask_cases, averaged, load_module, many_cases, read_cases, write_answer

os.environ["OPENAI_API_KEY"] = "none"

import braintrust
import openai

logging.disable(logging.CRITICAL)


def main():
    """Check the scorer, or the classifier, in an evaluation of one case each."""
    folder, cases = read_cases()
    module, labels = load_module(folder, "*_braintrust.py"), cases["judge"]["scale"]["labels"]
    chooses = cases["judge"]["scale"]["kind"] == "choice"
    client = openai.OpenAI()
    scored = {}

    class Watched(module.Judge):
        """Keeps the metadata of a score, which an evaluation without logs gives no one."""

        def _run_eval_sync(self, *given, **named):
            scored["score"] = super()._run_eval_sync(*given, **named)
            return scored["score"]

    def ask(url, row):
        judge = (module.Judge if chooses else Watched)(
            cases["model"], client=braintrust.wrap_openai(client.with_options(base_url=url))
        )
        judges = {"classifiers": [judge]} if chooses else {"scores": [judge]}
        evaluated = asyncio.run(
            braintrust.EvalAsync(
                "judgewright",
                data=[{"input": row}],
                task=lambda row: "",
                no_send_logs=True,
                **judges,
            )
        )
        (result,) = evaluated.results
        if result.error is not None:
            raise result.error
        if chooses:
            classified = (result.classifications or {}).get(cases["judge"]["name"]) or []
            return (labels.index(classified[0]["id"]), None) if classified else (None, None)
        (score,) = result.scores.values()
        return score, scored["score"].metadata.get("positive")

    def evaluate():
        """Return Braintrust's average over rows that are each asked about at an endpoint of their
        own.
        """
        many = many_cases(cases)

        def at_case(input, output):
            url, row = many[input]
            client_at = braintrust.wrap_openai(client.with_options(base_url=url))
            return module.Judge(cases["model"], client=client_at)(output=output, input=row)

        evaluated = asyncio.run(
            braintrust.EvalAsync(
                "judgewright",
                data=[{"input": number} for number in range(len(many))],
                task=lambda row: "",
                scores=[at_case],
                no_send_logs=True,
            )
        )
        (summary,) = evaluated.summary.scores.values()
        return summary.score

    tool = f"braintrust {version('braintrust')}, autoevals {version('autoevals')}"
    write_answer(
        tool, outcomes=ask_cases(cases, ask), many=None if chooses else averaged("Eval()", evaluate)
    )


main()
