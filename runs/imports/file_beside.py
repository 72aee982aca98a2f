"""What a model is shown of the file round a prompt: its code, settings and comments, without keys and passwords."""

from __future__ import annotations

import re

MOST_CHARACTERS = 16_000
"""Of a longer file, what stands nearest to the prompt is shown."""
ELSEWHERE = "[...]"
"""Stands for lines of the prompt, which the model is shown apart, and for what is too far away."""
_SHORTEST_LINE = 12
"""A shorter line may stand in the prompt and in the code by chance."""
_HIDDEN = "***"
_NAMED_SECRET = re.compile(
    r"(?i)(?P<name>[\w-]*(?:api_?key|apikey|secret|passw|password|token|credential|authorization)[\w-]*[\"']?\s*[:=]\s*)"
    r"(?P<value>[\"'`]?(?:Bearer\s+)?[A-Za-z0-9+/_.~-]{4,}={0,2}[\"'`]?)"
)
_LIKE_A_SECRET = re.compile(
    r"(?<![\w/.-])(?:sk-|pk-|rk-|gh[pousr]_|xox[abp]-|AKIA|AIza|hf_|eyJ)[A-Za-z0-9_.-]{12,}"
    r"|(?<![\w/.-])(?=[A-Za-z0-9+_-]*\d)(?=[A-Za-z0-9+_-]*[A-Za-z])[A-Za-z0-9+_-]{32,}"
)
"""What keys of known services begin with, and long strings of letters and digits."""
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----")
_IN_ADDRESS = re.compile(r"(?<=://)[^\s/@\"']+:[^\s/@\"']+(?=@)")
"""Name and password in front of a host."""


def file_beside(text: str, prompt: str) -> str:
    """Return a file without the lines of its prompt, and with secrets hidden; empty where nothing else is in it.

    Args:
        text: The file, as it is written.
        prompt: The words of the prompt that stands in it, or of the several that do.
    """
    own = {line.strip() for line in prompt.splitlines() if len(line.strip()) >= _SHORTEST_LINE}
    lines = [ELSEWHERE if line.strip() in own else line for line in _without_secrets(text).splitlines()]
    kept = [line for at, line in enumerate(lines) if line != ELSEWHERE or lines[at - 1 : at] != [ELSEWHERE]]
    if not any(re.search(r"\w", line) for line in kept):
        return ""
    return _nearest("\n".join(kept).strip("\n"))


def _without_secrets(text: str) -> str:
    named = _NAMED_SECRET.sub(lambda match: match["name"] + _HIDDEN, _KEY_BLOCK.sub(_HIDDEN, text))
    return _LIKE_A_SECRET.sub(_HIDDEN, _IN_ADDRESS.sub(_HIDDEN, named))


def _nearest(text: str) -> str:
    """Return the piece of a long text round the prompt, or its beginning where no line is the prompt's."""
    if len(text) <= MOST_CHARACTERS:
        return text
    middle = max(text.find(ELSEWHERE), MOST_CHARACTERS // 2)
    start = min(middle - MOST_CHARACTERS // 2, len(text) - MOST_CHARACTERS)
    piece = text[start : start + MOST_CHARACTERS]
    return (ELSEWHERE if start else "") + piece + (ELSEWHERE if start + MOST_CHARACTERS < len(text) else "")
