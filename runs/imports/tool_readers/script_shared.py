"""What the readers of tools share; it is copied beside the one that runs, and imports nothing."""

LEAST = 60
"""Characters that are more than a heading or a mark between two parts."""


def rules_of(text, fields):
    """Return the rules in the text before a row: its last run of lines that are no example and no
    form of the answer.

    Args:
        text: The tool's words.
        fields: Names of the reply's fields. A line that quotes one of them, or shows JSON, is on
            the form.
    """
    quoted = [f"{mark}{name}{mark}" for name in fields for mark in ("'", '"', "`")]
    runs = [[]]
    for line in text.split("\n"):
        words = line.strip().lower()
        shown = any(sign in line for sign in ("{", "}", "[", "]", *quoted))
        if shown or "json" in words or words.startswith("example"):
            runs.append([])
        else:
            runs[-1].append(line)
    texts = [text_of(run) for run in runs]
    return next((words for words in reversed(texts) if len(words) >= LEAST), "")


def text_of(lines):
    """Return lines as one text, without those at either end that hold no letter."""
    lines = list(lines)
    while lines and not any(map(str.isalpha, lines[-1])):
        lines.pop()
    while lines and not any(map(str.isalpha, lines[0])):
        lines.pop(0)
    return "\n".join(lines).strip()
