"""Ask with an export's own chain over LangChain's OpenAI model, and push it: `langchain.py EXPORT
CASES ANSWER`.
"""

from importlib.metadata import version

import openai
from langchain_core.load import dumps, loads
from langchain_openai import ChatOpenAI
from langchain_openai.decisions import OpenAIDecisions
from langsmith.client import prep_obj_for_push
from script_shared import ask_cases, load_module, read_cases, require_rendered, write_answer

ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class FakeHub:
    """Stands for LangSmith's client and keeps what is pushed."""

    def push_prompt(self, name, *, object, **options):
        self.pushed = object
        return name


def main():
    """Check the chain, and the prompt that it pushes."""
    folder, cases = read_cases()
    module = load_module(folder, "*_langchain.py")

    def ask(url, row):
        kind = OpenAIDecisions if module.JUDGE.asks_question else ChatOpenAI
        model = kind(model=cases["model"], base_url=url, api_key="none")
        module.JUDGE.slow_client = openai.OpenAI(api_key="none", base_url=url)
        verdict = module.judge(model).invoke(row)
        return verdict["score"], verdict["positive"]

    hub = FakeHub()
    module.push(client=hub)
    pulled = loads(dumps(prep_obj_for_push(hub.pushed)), allowed_objects="core")

    def render(row):
        messages = pulled.invoke(row).messages
        return [{"role": ROLES[one.type], "content": one.content} for one in messages]

    require_rendered(module, cases["rows"], render)
    tool = (
        f"langchain-core {version('langchain-core')}, langchain-openai"
        f" {version('langchain-openai')}"
    )
    notes = [
        f"what push() sends was read back with langsmith {version('langsmith')}, without a server"
    ]
    write_answer(tool, notes, outcomes=ask_cases(cases, ask))


main()
