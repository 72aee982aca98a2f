"""Write what prompt a DeepEval metric judges with: `import_deepeval.py NAME ANSWER`; all names
where it is empty.
"""

import json
import logging
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
warnings.simplefilter("ignore")

from deepeval import metrics  # noqa: E402
from deepeval.models import DeepEvalBaseLLM  # noqa: E402
from deepeval.test_case import LLMTestCase, SingleTurnParams  # noqa: E402

CRITERIA = "zqmarkczq"
PARAMETERS = {
    "g_eval_answer": (SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT),
    "g_eval_context": (SingleTurnParams.INPUT, SingleTurnParams.RETRIEVAL_CONTEXT),
    "g_eval_groundedness": (SingleTurnParams.RETRIEVAL_CONTEXT, SingleTurnParams.ACTUAL_OUTPUT),
}
"""GEval over the texts that each of the three judges of a RAG answer sees."""
METRICS = {
    "answer_relevancy": metrics.AnswerRelevancyMetric,
    "contextual_relevancy": metrics.ContextualRelevancyMetric,
    "faithfulness": metrics.FaithfulnessMetric,
    "hallucination": metrics.HallucinationMetric,
}
MARKS = {
    "zqmark0zq": "input",
    "zqmark1zq": "actual_output",
    "zqmark2zq": "retrieval_context",
    "zqmark3zq": "statements",
    "zqmark4zq": "claims",
    "zqmark5zq": "truths",
    CRITERIA: "criteria",
}
MARK_OF = {field: mark for mark, field in MARKS.items()}


class Fake(DeepEvalBaseLLM):
    """Keeps its prompts with the fields of the reply, and answers with marks, and with no
    verdicts.
    """

    def __init__(self):
        self.requests = []
        super().__init__("fake")

    def load_model(self):
        return self

    def get_model_name(self):
        return "fake"

    async def a_generate(self, prompt, schema=None):
        return self.generate(prompt, schema)

    def generate(self, prompt, schema=None):
        names = list(schema.model_fields) if schema else []
        self.requests.append((prompt, names))
        if schema is None:
            return "{}"
        values = dict.fromkeys(names, "r") | {"verdicts": [], "score": 0}
        values |= {name: [MARK_OF[name]] for name in names if name in MARK_OF}
        return schema(**{name: values[name] for name in names})


def metric_of(name, model):
    """Return the metric, with marks where the user's own words would stand."""
    if name in PARAMETERS:
        steps, parameters = [CRITERIA], list(PARAMETERS[name])
        return metrics.GEval(
            name="judge",
            model=model,
            async_mode=False,
            evaluation_steps=steps,
            evaluation_params=parameters,
        )
    return METRICS[name](model=model, async_mode=False, include_reason=False)


def main():
    """Write the names, or one judge, as JSON."""
    name, answer_path = sys.argv[1], Path(sys.argv[2])
    logging.disable(logging.CRITICAL)
    tool = f"deepeval {version('deepeval')}"
    if not name:
        answer_path.write_text(
            json.dumps({"tool": tool, "names": [*PARAMETERS, *METRICS]}), encoding="utf-8"
        )
        return
    if name not in PARAMETERS and name not in METRICS:
        raise SystemExit(
            f"DeepEval's metric {name!r} is not one that is read:"
            f" {', '.join((*PARAMETERS, *METRICS))}"
        )
    model = Fake()
    case = LLMTestCase(
        input=MARK_OF["input"],
        actual_output=MARK_OF["actual_output"],
        context=[MARK_OF["retrieval_context"]],
        retrieval_context=[MARK_OF["retrieval_context"]],
    )
    metric = metric_of(name, model)
    try:
        metric.measure(case, _show_indicator=False)
    except Exception as error:  # noqa: BLE001  # what the metric makes of no verdicts does not matter here
        print(f"after the prompt: {error}", file=sys.stderr)
    is_geval = name in PARAMETERS
    verdict_field = "score" if is_geval else "verdicts"
    prompts = [prompt for prompt, names in model.requests if verdict_field in names]
    if not prompts:
        raise SystemExit(f"DeepEval's {name} asked for no verdict")
    text = prompts[0]
    answer = {
        "tool": tool,
        "name": name,
        "location": f"{type(metric).__module__}.{type(metric).__name__}",
        "messages": [{"role": "user", "content": text}],
        "marks": {mark: field for mark, field in MARKS.items() if mark in text},
    }
    if is_geval:
        answer |= {
            "scale": {"kind": "graded", "low": 0, "high": 10},
            "reply": {"reason": "text", "score": "score"},
            "needs": {"criteria": "GEval judges by evaluation steps of yours"},
            "notes": [
                "DeepEval divides the score by 10, and weighs it by token probabilities where a"
                " model tells them."
            ],
        }
    else:
        answer |= {
            "scale": {"kind": "binary", "labels": ["no", "yes"]},
            "unreadable": "DeepEval asks for a list of verdicts, one for each piece",
            "notes": [
                "DeepEval breaks a text into pieces and reports the share with a good verdict; here"
                " a row is one piece."
            ],
        }
    answer_path.write_text(json.dumps(answer), encoding="utf-8")


main()
