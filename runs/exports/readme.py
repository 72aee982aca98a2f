"""The README.md in the folder of an export: what it is, what it needs, how to run it, what is not
the same there.
"""

from __future__ import annotations

import re

from .source_text import one_line
from .target import ExportContext, ExportedFiles, Target

README_NAME = "README.md"


def readme_text(
    context: ExportContext, target: Target, exported: ExportedFiles, differences: list[str]
) -> str:
    """Return the file's text.

    Args:
        context: The judge, and where it was measured.
        target: The tool.
        exported: The files beside it, and the lines that use them.
        differences: What is not the same there, as the manifest says it.
    """
    packages = (*target.requires, *target.bundled)
    needs = ["Nothing but a chat client."]
    if packages:
        runtime, command = (
            ("Node", "npm") if target.runtime == "node" else ("Python 3.11 or newer", "pip")
        )
        named = " ".join(
            f'"{package}"' if re.search(r"[<> ]", package) else package for package in packages
        )
        needs = [f"{runtime}, and packages in the versions that it was verified with:"]
        needs.append(f"```\n{command} install {named}\n```")
    if exported.scores is not None:
        needs.append(
            "The model's key is read from `OPENAI_API_KEY`, another address from `OPENAI_BASE_URL`."
        )
    parts = [
        f"# {context.prompt.name} for {target.tool}",
        (
            f"The judge {_escaped(context.origin)}. Its decision rule, where it was measured and"
            " each file's digest stand in `manifest.json`."
        ),
        "## What it needs",
        *needs,
        "## Run it",
        f"```\n{exported.usage}\n```",
        "## What is not the same there",
        "\n".join(f"* {_escaped(sentence)}" for sentence in differences)
        or "Nothing is known to differ.",
    ]
    if target.check:
        own = f" --with path/to/{target.runtime}" if target.requires else ""
        parts += ["## Prove it", f"```\njudgewright export verify .{own}\n```"]
    return "\n\n".join(parts) + "\n"


def _escaped(sentence: str) -> str:
    """Return a sentence whose marks Markdown and HTML do not read; code in backquotes stays
    code.
    """
    pieces = one_line(sentence).split("`")
    if len(pieces) % 2 == 0:
        pieces = ["'".join(pieces)]
    escaped = (
        re.sub(r"([\\*_\[\]<>#|~])", r"\\\1", piece) if i % 2 == 0 else piece
        for i, piece in enumerate(pieces)
    )
    return "`".join(escaped)
