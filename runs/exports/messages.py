"""The chat messages of a judge, with `{{name}}` where a row's fields go."""

from __future__ import annotations

import orjson

from ...judges import PLACEHOLDER, DecisionRule, Example, JudgePrompt

DIFFERENCE = (
    "Fences around row text are fixed tags here; Judgewright derives them from prompt and row, so that row text "
    "cannot close them. Remove the closing tags from row text before filling the placeholders."
)


def template_messages(prompt: JudgePrompt) -> list[dict[str, str]]:
    """Return the messages with placeholders in place of row text."""
    out = [{"role": "system", "content": prompt.system_text()}]
    for example in prompt.examples:
        out.append({"role": "user", "content": _user(prompt, example)})
        out.append({"role": "assistant", "content": example.reply})
    out.append({"role": "user", "content": _user(prompt, None)})
    return out


def _user(prompt: JudgePrompt, example: Example | None) -> str:
    def fenced(name: str) -> str:
        text = f"{{{{{name}}}}}" if example is None else example.inputs[name]
        return f"<{name}>\n{text}\n</{name}>"

    filled = PLACEHOLDER.sub(lambda match: fenced(match.group(1)), prompt.template)
    return "\n\n".join(part for part in (filled, prompt.reply.strip()) if part)


def messages_json(prompt: JudgePrompt, provenance: dict[str, object], rule: DecisionRule | None = None) -> str:
    """Write the messages alone as a JSON array, as chat clients take it; it has no place for provenance or rule."""
    return orjson.dumps(template_messages(prompt), option=orjson.OPT_INDENT_2).decode() + "\n"
