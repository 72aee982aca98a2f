"""Have an openevals export ask a fake chat model and a fake OpenAI client: `openevals.py EXPORT CASES OUT`."""

import importlib.util
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

os.environ["LANGSMITH_TRACING"] = "false"


class Asked(list):
    """The messages a fake model was sent, and the reply it gives next."""

    reply = ""


def module_of(folder):
    """Import the module that was exported."""
    file = next(folder.glob("*.py"))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chat_model(asked):
    """Return a chat model of LangChain's own kind that answers by a tool call where its reply is JSON."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Fake(BaseChatModel):
        @property
        def _llm_type(self):
            return "fake"

        def bind_tools(self, tools, **kwargs):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            asked.append([{"role": m["role"], "content": m["content"]} for m in convert_to_openai_messages(messages)])
            try:
                call = [{"name": "verdict", "args": json.loads(asked.reply), "id": "1"}]
            except ValueError:
                call = []
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content=asked.reply, tool_calls=call))])

    return Fake()


def openai_client(asked):
    """Return what looks like an OpenAI client."""

    def create(messages, response_format, **_):
        if response_format["json_schema"]["schema"]["title"] != "verdict":
            raise ValueError("openevals sent another schema than the module's")
        asked.append([{"role": m["role"], "content": m["content"]} for m in messages])
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=asked.reply))])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def found_by(evaluate, asked, told):
    """Return the messages for each row and the score of each reply."""
    asked.clear()
    asked.reply = told["replies"][0]
    for row in told["rows"]:
        evaluate(**row)
    rendered, scores = list(asked), []
    for reply in told["replies"]:
        asked.reply = reply
        try:
            scores.append(evaluate(**told["rows"][0])["score"])
        except ValueError:
            scores.append(None)
    return rendered, scores


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    module, asked = module_of(given), Asked()
    rendered, scores = found_by(module.evaluator(chat_model(asked)), asked, told)
    if found_by(module.evaluator(openai_client(asked), model="gpt"), asked, told) != (rendered, scores):
        raise ValueError("an OpenAI client is asked otherwise than a LangChain model")
    notes = ["asked through a LangChain chat model and through an OpenAI client"]
    tool = f"openevals {version('openevals')}"
    out.write_text(json.dumps({"tool": tool, "rendered": rendered, "scores": scores, "notes": notes}), encoding="utf-8")


main()
