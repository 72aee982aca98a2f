"""The judge in `judge.json` as an evaluator for Azure AI Evaluation."""

import sys
from inspect import Parameter, Signature
from pathlib import Path

from openai import AzureOpenAI, OpenAI

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


class Judge:
    """An evaluator; a reply without a grade raises ValueError, and that row has no result."""

    def __init__(self, model_config, parameters=None):
        """Take a model as Azure's own evaluators do.

        Args:
            model_config: An OpenAIModelConfiguration or an AzureOpenAIModelConfiguration.
            parameters: What the request says otherwise than the judge does; None leaves a part of
                it out.
        """
        if endpoint := model_config.get("azure_endpoint"):
            self.model = model_config["azure_deployment"]
            self.client = AzureOpenAI(
                azure_endpoint=endpoint,
                azure_deployment=self.model,
                api_key=model_config.get("api_key"),
                api_version=model_config.get("api_version") or "2024-10-21",
            )
        else:
            self.model = model_config["model"]
            self.client = OpenAI(
                api_key=model_config.get("api_key"),
                base_url=model_config.get("base_url"),
                organization=model_config.get("organization"),
                default_headers=model_config.get("extra_headers"),
            )
        self.parameters = parameters or {}

    def __call__(self, **row):
        """Judge one row."""
        grade, reasons = JUDGE.ask(self.client, self.model, row, self.parameters)
        if JUDGE.chooses:
            result = {f"{JUDGE.name}_label": JUDGE.label(grade)}
        else:
            decision = "pass" if JUDGE.positive(grade) else "fail"
            result = {JUDGE.name: grade, f"{JUDGE.name}_result": decision}
        return {**result, f"{JUDGE.name}_reason": reasons}


def signature():
    """Return the arguments of the evaluator: Azure finds a row's inputs by their names."""
    names = ["self", *JUDGE.inputs]
    kinds = [Parameter.POSITIONAL_ONLY] + [Parameter.KEYWORD_ONLY] * len(JUDGE.inputs)
    return Signature([Parameter(name, kind) for name, kind in zip(names, kinds, strict=True)])


Judge.__call__.__signature__ = signature()
