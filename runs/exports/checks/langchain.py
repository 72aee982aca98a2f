"""Load an export in LangChain, render rows in its own chain and read replies: `langchain.py EXPORT CASES ANSWER`."""

from importlib.metadata import version

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langsmith.client import prep_obj_for_push
from script_shared import load_module, read_cases, score_or_none, write_answer

SENT = []
REPLY = [""]


class FakeModel(BaseChatModel):
    """A chat model of LangChain's own kind that keeps messages in SENT and answers with REPLY."""

    @property
    def _llm_type(self):
        return "fake"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        SENT.append([{"role": m["role"], "content": m["content"]} for m in convert_to_openai_messages(messages)])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=REPLY[0]))])


class FakeHub:
    """Stands for LangSmith's client and keeps what is pushed."""

    def push_prompt(self, name, *, object, **options):
        self.pushed = object
        return name


def main():
    """Check the chain, and the prompt that it pushes."""
    folder, cases = read_cases()
    rows, replies = cases["rows"], cases["replies"]
    module = load_module(folder, "*.py")
    judge = module.judge(FakeModel())
    REPLY[0] = replies[0]
    for row in rows:
        judge.invoke(row)
    rendered, scores = list(SENT), []
    for REPLY[0] in replies:
        scores.append(score_or_none(lambda: judge.invoke(rows[0])["score"]))
    hub = FakeHub()
    module.push(client=hub)
    pulled = loads(dumps(prep_obj_for_push(hub.pushed)), allowed_objects="core") | FakeModel()
    SENT.clear()
    for row in rows:
        pulled.invoke(row)
    if rendered != SENT:
        raise ValueError("what push() sends to LangSmith renders other messages")
    tool = f"langchain-core {version('langchain-core')}, langsmith {version('langsmith')}"
    write_answer(tool, rendered, scores, ["what push() sends was read back without a server"])


main()
