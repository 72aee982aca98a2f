"""Write what prompt a DeepEval metric judges with: `import_deepeval.py NAME ANSWER`; all names
where it is empty.
"""

import os
import sys
import warnings

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
warnings.simplefilter("ignore")

from deepeval import metrics  # noqa: E402
from deepeval.models import DeepEvalBaseLLM  # noqa: E402
from deepeval.test_case import LLMTestCase, SingleTurnParams  # noqa: E402
from script_shared import answer, marks_for  # noqa: E402

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
MARKS = marks_for(("input", "actual_output", "retrieval_context", "statements", "claims", "truths"))
MARKS[CRITERIA] = "criteria"
MARK_OF = {field: mark for mark, field in MARKS.items()}
OF_GEVAL = {
    "scale": {"kind": "graded", "low": 0, "high": 10},
    "reply": {"reason": "text", "score": "score"},
    "needs": {"criteria": "GEval judges by evaluation steps of yours"},
    "notes": [
        "DeepEval divides the score by 10, and weighs it by token probabilities where a model tells"
        " them."
    ],
}
OF_PIECES = {
    "scale": {"kind": "binary", "labels": ["no", "yes"]},
    "unreadable": "DeepEval asks for a list of verdicts, one for each piece",
    "notes": [
        "DeepEval breaks a text into pieces and reports the share with a good verdict; here a row"
        " is one piece."
    ],
}


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


def read(name):
    """Return what a metric sends when it asks for its verdict."""
    if name not in PARAMETERS and name not in METRICS:
        raise SystemExit(
            f"DeepEval's metric {name!r} is not one that is read:"
            f" {', '.join((*PARAMETERS, *METRICS))}"
        )
    model = Fake()
    texts = [MARK_OF["retrieval_context"]]
    case = LLMTestCase(
        input=MARK_OF["input"],
        actual_output=MARK_OF["actual_output"],
        context=texts,
        retrieval_context=texts,
    )
    metric = metric_of(name, model)
    try:
        metric.measure(case, _show_indicator=False)
    except Exception as error:  # noqa: BLE001  # what the metric makes of no verdicts does not matter here
        print(f"after the prompt: {error}", file=sys.stderr)
    verdict_field = "score" if name in PARAMETERS else "verdicts"
    prompts = [prompt for prompt, names in model.requests if verdict_field in names]
    if not prompts:
        raise SystemExit(f"DeepEval's {name} asked for no verdict")
    more = OF_GEVAL if name in PARAMETERS else OF_PIECES
    return {
        "location": f"{type(metric).__module__}.{type(metric).__name__}",
        "messages": [{"role": "user", "content": prompts[0]}],
        "marks": {mark: field for mark, field in MARKS.items() if mark in prompts[0]},
        **more,
    }


answer("deepeval", "deepeval", lambda: [*PARAMETERS, *METRICS], read)
