"""Run a DSPy export with its OpenAI client: `dspy.py EXPORT CASES ANSWER`."""

import inspect
import logging
import os
from pathlib import Path

from script_shared import ask_cases, averaged, load_module, many_cases, read_cases, write_answer

os.environ["DSPY_CACHEDIR"] = str(Path.cwd() / "cache")

import dspy


def check_signature(module, judge, row):
    """Save and load the judge's state; return a note, or stop unless the signature stays as the
    module has it, as DSPy's own adapter shows it.
    """
    judge.save("state.json")
    loaded = module.Judge()
    loaded.load("state.json")
    signature = loaded.judge.signature
    if signature.instructions != inspect.cleandoc(module.JUDGE.system):
        raise SystemExit("the saved instructions are not the judge's")
    declared, saved = (
        dspy.ChatAdapter().format(one, [], row) for one in (module.JudgeSignature, signature)
    )
    if declared != saved:
        raise SystemExit("the saved state gives the signature's fields other descriptions")
    return f"saved and loaded: {len(signature.fields)} fields in order"


def main():
    """Check the module and the state that it loads."""
    folder, cases = read_cases()
    logging.disable(logging.CRITICAL)
    module = load_module(folder, "*_dspy.py")

    def judge_at(url):
        model = dspy.LM(
            f"openai/{cases['model']}", api_base=url, api_key="none", cache=False, num_retries=0
        )
        judge = module.Judge()
        judge.set_lm(model)
        return judge

    def ask(url, row):
        prediction = judge_at(url)(**row)
        return module.grade_of(prediction), module.positive(prediction)

    def evaluate():
        """Return the average of `dspy.Evaluate` over rows that are each asked about at an endpoint
        of their own.
        """
        many = many_cases(cases)
        rows = [dspy.Example(at_case=url, **row).with_inputs("at_case", *row) for url, row in many]
        run = dspy.Evaluate(
            devset=rows,
            metric=lambda row, prediction, trace=None: module.grade_of(prediction),
            num_threads=1,
            display_progress=False,
            display_table=False,
        )
        result = run(lambda at_case, **row: judge_at(at_case)(**row))
        return sum(score for _, _, score in result.results) / len(rows)

    notes = [check_signature(module, module.Judge(), cases["rows"][0])]
    write_answer(
        f"dspy {dspy.__version__}",
        notes,
        outcomes=ask_cases(cases, ask),
        many=averaged("dspy.Evaluate", evaluate),
    )


main()
