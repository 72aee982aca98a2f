"""Run the harness with the task of an export over the OpenAI client: `lmeval.py EXPORT CASES
ANSWER`.
"""

import json
import logging
import os
import sys
from importlib.metadata import version
from pathlib import Path

from script_shared import numbered_cases, read_cases, write_answer

os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HOME": str(Path("hf").absolute()),
}
os.environ |= {"TQDM_DISABLE": "1", "OPENAI_API_KEY": "none"}

import lm_eval
import openai
from lm_eval.tasks import TaskManager

logging.disable(logging.CRITICAL)


def main():
    """Judge every case in one evaluation: a document names its case, and the module's client asks
    there.
    """
    folder, cases = read_cases()
    numbered, judge = numbered_cases(cases), cases["judge"]
    rows = Path("rows.jsonl").absolute()
    lines = [json.dumps({**row, "case": number}) for number, (_, row) in enumerate(numbered)]
    rows.write_text("\n".join(lines), encoding="utf-8")
    (path,) = folder.glob("*_lmeval.yaml")
    os.environ["JUDGE_MODEL"] = cases["model"]
    manager = TaskManager(
        include_path=str(folder), include_defaults=False, metadata={"path": str(rows)}
    )
    (task,) = manager.load([f"{path.stem}_rows"])["tasks"].values()
    process = task.config.process_results
    module, client = process.__globals__, openai.OpenAI()

    def at_its_case(doc, results):
        """Judge a document at the endpoint of its case."""
        module["OpenAI"] = lambda: client.with_options(base_url=numbered[doc["case"]][0])
        return process(doc, results)

    task.config.process_results = at_its_case
    evaluated = lm_eval.simple_evaluate(
        model="dummy", tasks=[task], task_manager=manager, log_samples=True, bootstrap_iters=0
    )
    samples = sorted(
        next(iter(evaluated["samples"].values())), key=lambda sample: sample["doc"]["case"]
    )
    name, outcomes = judge["name"], []
    for sample in samples:
        grade = sample.get(name)
        outcomes.append(
            {"score": grade, "positive": None if grade is None else sample[f"{name}_positive"] == 1}
        )
    grades = [one["score"] for one in outcomes if one["score"] is not None]
    mean = next(iter(evaluated["results"].values()))[f"{name},none"]
    if abs(mean - sum(grades) / len(grades)) > 1e-9:
        sys.exit(f"the harness averages {mean}, not {sum(grades) / len(grades)}")
    write_answer(f"lm-eval {version('lm-eval')}", outcomes=outcomes)


main()
