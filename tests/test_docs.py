"""README and documents tell the truth: the table of metrics is the code's, their commands parse."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from judgewright.judges.metrics import METRICS
from judgewright.runs.cli import cli

ROOT = Path(__file__).resolve().parents[1]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""Blocks with their kind; those of no kind hold commands of ours."""
BLOCKS = "\n".join(
    block
    for path in DOCS
    for kind, block in FENCED.findall(path.read_text(encoding="utf-8"))
    if not kind
)
COMMANDS = [
    line.removesuffix(" &")
    for line in BLOCKS.replace("\\\n", " ").splitlines()
    if line.startswith("judgewright ")
]


def catalog() -> str:
    """The table of metrics, a line each."""
    return "".join(f"| `{name}` | {metric.description} |\n" for name, metric in METRICS.items())


def test_the_table_of_metrics_is_the_one_in_the_code() -> None:
    """docs/measuring.md lists every metric with its description in the catalog."""
    text = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    assert f"| metric | what it is |\n|---|---|\n{catalog()}\n" in text


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_documents_parses(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Command, options and values are what the command line accepts; nothing is run."""
    (tmp_path / "handover").mkdir()  # an export that `export verify` is given
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    command: click.Command = cli
    with click.Context(cli) as context:
        while isinstance(command, click.Group):
            _, subcommand, words = command.resolve_command(context, words)
            assert subcommand is not None, line
            command = subcommand
        command.make_context("judgewright", list(words), parent=context, resilient_parsing=False)


def message_texts() -> list[str]:
    """Every string in the product, `...` for what is filled in when it is used."""
    texts: list[str] = []
    for room in ("judges", "slices", "optimize", "runs"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    texts.append(
                        "".join(
                            str(part.value) if isinstance(part, ast.Constant) else "..."
                            for part in node.values
                        )
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(node.value)
    return texts


def test_the_messages_of_the_troubleshooting_page_are_ours() -> None:
    """Each message stands in the code, so that somebody who searches for it finds the page."""
    page = (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
    texts = message_texts()
    unknown = []
    for kind, block in FENCED.findall(page):
        if kind != "text":
            continue
        fragments = [
            fragment.strip() for fragment in block.strip().split("...") if fragment.strip()
        ]
        if not any(all(fragment in text for fragment in fragments) for text in texts):
            unknown.append(block.strip())
    assert unknown == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_files_that_a_page_for_contributors_names_are_there(page: str) -> None:
    """Paths with a folder, in backquotes; NAME stands for one's own."""
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(
        r"`((?:judges|slices|optimize|runs|tests|docs|notebooks|benchmarks)/[\w./-]*)`", text
    )
    assert paths
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def test_the_figures_of_reading_the_intervals_are_those_of_the_tutorial() -> None:
    """Its tables are quoted from the tutorial, whose own are what its commands print
    (`test_docs_site.py`).
    """
    page = (ROOT / "docs/concepts/reading-intervals.md").read_text(encoding="utf-8")
    tutorial = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8").splitlines()
    quoted = [
        line
        for line in page.splitlines()
        if line.startswith("  ") and any(letter.isdigit() for letter in line)
    ]
    assert len(quoted) == 4
    assert [line for line in quoted if line not in tutorial] == []
