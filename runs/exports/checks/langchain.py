"""Load an export in LangChain, render rows through its own chain and read replies: `langchain.py EXPORT CASES OUT`."""

import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path


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


def fake_model(asked):
    """Return a chat model of LangChain's own kind that keeps what it is sent."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Fake(BaseChatModel):
        @property
        def _llm_type(self):
            return "fake"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            sent = convert_to_openai_messages(messages)
            asked.append([{"role": m["role"], "content": m["content"]} for m in sent])
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content=asked.reply))])

    return Fake()


class Hub:
    """Stands for LangSmith's client and keeps what is pushed."""

    def push_prompt(self, name, *, object, **options):
        self.pushed = object
        return name


def main():
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    from langchain_core.load import dumps, loads
    from langsmith.client import prep_obj_for_push

    module, asked = module_of(given), Asked()
    judge = module.judge(fake_model(asked))
    asked.reply = told["replies"][0]
    for row in told["rows"]:
        judge.invoke(row)
    rendered, scores, notes = list(asked), [], []
    for reply in told["replies"]:
        asked.reply = reply
        try:
            scores.append(judge.invoke(told["rows"][0])["score"])
        except ValueError:
            scores.append(None)
    hub = Hub()
    module.push(client=hub)
    written = dumps(prep_obj_for_push(hub.pushed))
    pulled = loads(written, allowed_objects="core") | fake_model(asked)
    for row in told["rows"]:
        pulled.invoke(row)
    if asked[-len(rendered) :] != rendered:
        raise ValueError("what push() sends to LangSmith renders other messages")
    notes.append("what push() sends was read back without a server")
    tool = f"langchain-core {version('langchain-core')}, langsmith {version('langsmith')}"
    out.write_text(json.dumps({"tool": tool, "rendered": rendered, "scores": scores, "notes": notes}), encoding="utf-8")


main()
