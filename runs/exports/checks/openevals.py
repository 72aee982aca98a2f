"""Have an openevals export ask a fake chat model and a fake OpenAI client: `openevals.py EXPORT CASES ANSWER`."""

import json
import os
from importlib.metadata import version
from types import SimpleNamespace

from script_shared import load_module, read_cases, score_or_none, write_answer

os.environ["LANGSMITH_TRACING"] = "false"

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult

SENT = []
REPLY = [""]


class FakeModel(BaseChatModel):
    """A chat model of LangChain's own kind that answers by a tool call where REPLY is JSON."""

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        SENT.append([{"role": m["role"], "content": m["content"]} for m in convert_to_openai_messages(messages)])
        try:
            calls = [{"name": "verdict", "args": json.loads(REPLY[0]), "id": "1"}]
        except ValueError:
            calls = []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=REPLY[0], tool_calls=calls))])


def fake_client():
    """Return what looks like an OpenAI client."""

    def create(messages, response_format, **_):
        if response_format["json_schema"]["schema"]["title"] != "verdict":
            raise ValueError("openevals sent another schema than the module's")
        SENT.append([{"role": m["role"], "content": m["content"]} for m in messages])
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=REPLY[0]))])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def run_cases(evaluate, cases):
    """Return the messages for each row and the score of each reply."""
    SENT.clear()
    REPLY[0] = cases["replies"][0]
    for row in cases["rows"]:
        evaluate(**row)
    rendered, scores = list(SENT), []
    for REPLY[0] in cases["replies"]:
        scores.append(score_or_none(lambda: evaluate(**cases["rows"][0])["score"]))
    return rendered, scores


def main():
    """Check the evaluator with both kinds of model."""
    folder, cases = read_cases()
    module = load_module(folder, "*.py")
    rendered, scores = run_cases(module.evaluator(FakeModel()), cases)
    if run_cases(module.evaluator(fake_client(), model="gpt"), cases) != (rendered, scores):
        raise ValueError("an OpenAI client is asked otherwise than a LangChain model")
    notes = ["asked through a LangChain chat model and through an OpenAI client"]
    write_answer(f"openevals {version('openevals')}", rendered, scores, notes)


main()
