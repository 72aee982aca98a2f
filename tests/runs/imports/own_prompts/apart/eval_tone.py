import logging
import re

from anthropic import Anthropic

log = logging.getLogger(__name__)
client = Anthropic()


def build_tone_prompt(customer_msg: str, agent_reply: str) -> str:
    return f"""You are a hospitality trainer. A hotel guest wrote to us and our assistant drafted a reply.

Guest:
{customer_msg}

Draft reply:
{agent_reply}

How warm and professional is the tone of the draft? Only judge the tone, not whether the
information is right.

1 means rude, cold or robotic; 3 means neutral and correct; 5 means warm, attentive and
professional, like our best front desk colleagues.

Explain your impression in two or three sentences and finish with the sentence
"I would give this reply a N out of 5." with your number instead of N."""


def tone_score(customer_msg: str, agent_reply: str) -> int | None:
    msg = client.messages.create(
        model="claude-3-5-haiku-latest",
        max_tokens=300,
        messages=[{"role": "user", "content": build_tone_prompt(customer_msg, agent_reply)}],
    )
    text = msg.content[0].text
    m = re.search(r"give this reply an? (\d) out of 5", text)
    if not m:
        log.warning(f"no score in: {text!r}")
        return None
    return int(m.group(1))
