"""Score rows with an export for Opik over LiteLLM, with no server of Opik: `opik.py EXPORT CASES
ANSWER`.
"""

import asyncio
import logging
import os
import sys
from importlib.metadata import version

from script_shared import ask_cases, load_module, read_cases, require_rendered, write_answer

os.environ |= {
    "OPIK_TRACK_DISABLE": "true",
    "OPIK_ANALYTICS_ENABLE": "false",
    "OPIK_SENTRY_ENABLE": "false",
}
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "none"}

from opik.api_objects.prompt import ChatPromptTemplate

logging.disable(logging.CRITICAL)


class FakeClient:
    """Keeps the prompt that is pushed."""

    def create_chat_prompt(self, **options):
        self.options = options


def check_prompt(module, cases):
    """Push the prompt, and render it in Opik's own template."""
    client = FakeClient()
    module.push(client)
    template = ChatPromptTemplate(client.options["messages"], template_type=client.options["type"])
    require_rendered(module, cases["rows"], template.format)


def main():
    """Check the metric and the stored prompt."""
    folder, cases = read_cases()
    module = load_module(folder, "*_opik.py")

    def ask(url, row):
        metric = module.Judge(f"openai/{cases['model']}", track=False, api_base=url)
        result = asyncio.run(metric.ascore(**row, an_unknown_column="ignored"))
        if metric.score(**row).value != result.value:
            sys.exit("score and ascore differ")
        return result.value, (result.metadata or {}).get("positive")

    check_prompt(module, cases)
    write_answer(f"opik {version('opik')}", outcomes=ask_cases(cases, ask))


main()
