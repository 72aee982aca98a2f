"""Evaluate rows with an export for Weave over the OpenAI client, without its server: `weave.py
EXPORT CASES ANSWER`.
"""

import asyncio
import logging
import os
import sys
from importlib.metadata import version

from script_shared import ask_cases, load_module, read_cases, write_answer

os.environ |= {"WEAVE_DISABLED": "true", "WANDB_ERROR_REPORTING": "false", "OPENAI_API_KEY": "none"}

import weave

logging.disable(logging.CRITICAL)


@weave.op
def as_given(**row):
    """Answer nothing: the rows hold what is to be judged."""
    return ""


def main():
    """Check the scorer in an evaluation of one row each."""
    folder, cases = read_cases()
    module, labels = load_module(folder, "*_weave.py"), cases["judge"]["scale"]["labels"]

    def ask(url, row):
        judge = module.Judge(model=cases["model"], base_url=url)
        evaluation = weave.Evaluation(dataset=[row], scorers=[judge], evaluation_name="one row")
        table = asyncio.run(evaluation.get_eval_results(as_given))
        ((scores,),) = [list(row["scores"].values()) for row in table.rows]
        if "label" in scores:
            return None if scores["label"] is None else labels.index(scores["label"]), None
        summary = judge.summarize([scores, {**scores, "score": None, "positive": None}]) or {}
        mean = summary.get("score", {}).get("mean")
        if mean != scores["score"]:
            sys.exit(f"beside an unscored row the mean is {mean}, not {scores['score']}")
        return scores["score"], scores["positive"]

    write_answer(f"weave {version('weave')}", outcomes=ask_cases(cases, ask))


main()
