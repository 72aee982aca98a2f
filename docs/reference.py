"""What MkDocs adds to the written pages while it builds: the reference, and a section for each
export target.

Everything here is read from the code (click's help, `__all__` with its docstrings, what the targets
say of themselves), so that it cannot be stale; nothing of it is kept in the repository. What is
written by hand is the order: which commands and names belong to which task.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from judgewright.judges import Registry
from judgewright.runs.cli import cli
from judgewright.runs.commands.help import EVERY_OPTION
from judgewright.runs.exports import TARGETS, ExportContext, Refused, build_manifest

FACES = {
    "python": "judgewright",
    "judges": "judgewright.judges",
    "slices": "judgewright.slices",
    "optimize": "judgewright.optimize",
    "exports": "judgewright.runs.exports",
}
"""Reference page to the package whose public names it lists."""
COMMAND_TASKS = {
    "Try it": ("demo",),
    "Look at rows, judges and models": ("data", "judges", "models"),
    "Measure a judge": ("bench", "score", "calibrate"),
    "Find where it errs": ("slices",),
    "Improve it": ("loss", "optimize", "runs"),
    "Decide": ("review", "diff", "accept", "reject", "gate", "label"),
    "Use it": (
        "export",
        "doctor",
    ),
    "Plug-ins": ("rag", "students", "agents"),
}
"""The commands in the order in which people meet them."""
PYTHON_TASKS = {
    "python": {"Do what the commands do": ("runs", "judgewright")},
    "judges": {
        "Read rows and verdicts": ("rows", "files", "datasets", "splits", "duplicates"),
        "Describe a judge": ("prompt", "instruction", "registry", "scale"),
        "Ask a model": (
            "judge",
            "models",
            "simulated",
            "reply",
            "response_format",
            "verdict",
            "token_confidence",
        ),
        "Measure": ("judged", "metrics", "leaderboard", "calibrate", "reliability"),
        "Handle errors": ("errors",),
    },
    "slices": {
        "Find slices": ("find", "search_result"),
        "Look at one slice": ("slice", "inspect_slice", "saved"),
        "Find what a new prompt made worse": ("regression",),
    },
    "optimize": {
        "Run an optimization": (
            "loop",
            "context",
            "goal",
            "goal_setting",
            "settings",
            "options",
            "step",
            "search_state",
            "brief",
            "candidate",
        ),
        "Say what should improve": ("goal_setting", "losses"),
        "Write prompts": ("proposers", "invariants"),
        "Decide what is sent to the gate": ("chance", "survivor"),
        "Decide on the holdout": ("holdout",),
        "Find out which words caused a gain": (
            "hunks",
            "threshold",
            "word_diff",
            "align",
        ),
        "Know what a run will cost": ("forecast",),
        "Record a run": ("journal", "events"),
    },
    "exports": {
        "Write an export": ("", "targets", "manifest", "write_files", "push"),
        "Verify it": ("verify",),
        "Add a target": ("target", "adapter"),
    },
}
"""For each page of Python names: tasks, and the files or folders whose names belong to them."""
MORE = "Inner parts"
"""What is named nowhere above: for people who change the code, so that the page to start from
leaves it out.
"""
CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
TARGETS_HERE = "<!-- the targets -->"
"""Where the page about exports has its sections."""
SHOWN = "groundedness"
"""The shipped judge that the sections export."""
WIDTH = 100
_SECTION = re.compile(r"(Args|Returns|Raises|Yields):")
_ITEM = re.compile(r"(\w+): (.*)")
_CODE = re.compile(r"(`[^`]*`|^ {4}.*$)", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference, the one about contributing, which stands at the root of the
    repository, and the list of pages that language models look for.
    """
    python = {page: python_page(page) for page in FACES}
    pages = {"start": start_page(), "commands": commands_page(), **python}
    for page, text in pages.items():
        files.append(File.generated(config, f"reference/{page}.md", content=text))
    contributing = CONTRIBUTING.read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "contributing.md", content=contributing))
    files.append(File.generated(config, "llms.txt", content=llms_text(config)))
    return files


def llms_text(config: MkDocsConfig) -> str:
    """Return what llmstxt.org asks for: what this is, from the first page, and a link to every
    page of the site's index.
    """
    index = (Path(config.docs_dir) / "index.md").read_text(encoding="utf-8")
    about = index.split("## ", 1)[0].split("\n\n", 1)[1].strip()
    parts = [f"# {config.site_name}\n\n> {config.site_description}\n\n{about}"]
    first: list[str] = []
    for entry in config.nav or ():
        ((title, pages),) = entry.items()
        if isinstance(pages, str):
            first.append(_link(title, pages))
        else:
            parts.append(f"## {title}\n\n" + "\n".join(_link(*p) for e in pages for p in e.items()))
    parts.insert(1, "## First\n\n" + "\n".join(first))
    return "\n\n".join(parts) + "\n"


def _link(title: str, page: str) -> str:
    return f"- [{title}]({page.removesuffix('.md')}.html)"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the targets' sections where the page about exports wants them."""
    return markdown.replace(TARGETS_HERE, targets_text()) if TARGETS_HERE in markdown else markdown


def start_page() -> str:
    """Return the page that says where to look: commands and Python names by task."""
    parts = [
        "# Start here\n\nEvery command and every public name, by what you want to do.\n",
        "## Commands\n",
    ]
    for task, commands in command_tasks().items():
        parts.append(f"**{task}**\n")
        parts += [
            f"* [`{name}`](commands.md#judgewright-{name}): {prose(text)}"
            for name, text in commands.items()
        ]
        parts.append("")
    parts.append("## Python\n")
    for page, package in FACES.items():
        module = import_module(package)
        parts.append(
            f"**[`{package}`]({page}.md)**: {prose(docstring(module).partition(chr(10))[0])}\n"
        )
        for task, names in python_tasks(page).items():
            if task == MORE:
                continue
            links = ", ".join(f"[`{name}`]({page}.md#{name.lower()})" for name in names)
            parts.append(f"* {task}: {links}")
        parts.append("")
    return "\n".join(parts)


def command_tasks() -> dict[str, dict[str, str]]:
    """Return the commands of each task with what they do in a line; those that are hidden are left
    out.
    """
    context = click.Context(cli, info_name="judgewright")
    texts: dict[str, str] = {}
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            texts[name] = command.get_short_help_str(WIDTH)
    tasks = {
        task: {name: texts.pop(name) for name in names if name in texts}
        for task, names in COMMAND_TASKS.items()
    }
    return tasks | ({MORE: texts} if texts else {})


def commands_page() -> str:
    """Return the help of every command by task, groups before their own commands."""
    usual = "`--help` shows the options that people use"
    parts = [f"# Commands\n\nWhat `--help-all` prints, for every command; {usual}.\n"]
    context = click.Context(cli, info_name="judgewright")
    for task, names in command_tasks().items():
        parts.append(f"## {task}\n")
        for name in names:
            command = cli.get_command(context, name)
            assert command is not None, name
            for path, text in helps(command, name, context):
                parts.append(f"### {path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def helps(
    command: click.Command, name: str, parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    """Yield the path and the help of a command, and of all under it."""
    context = click.Context(
        command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH
    )
    context.meta[EVERY_OPTION] = True
    yield context.command_path, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            assert subcommand is not None, child
            yield from helps(subcommand, child, context)


def targets_text() -> str:
    """Return a section for each export target: what it writes, the lines that use it, what differs
    there.
    """
    prompt = Registry().get(SHOWN)
    handover = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    parts = []
    for name, target in TARGETS.items():
        parts.append(f"### {name}\n\nFor {prose(target.tool)}.\n")
        try:
            bundle = target.write(handover)
        except Refused as reason:
            parts.append(f"It cannot carry `{SHOWN}`: {prose(str(reason))}.\n")
            continue
        parts.append(f"```text\njudgewright export {SHOWN} --to {name} --out handover\n```\n")
        parts.append(f"It writes {', '.join(f'`{file}`' for file in bundle.files)}. To use it:\n")
        parts.append(f"```text\n{bundle.usage}\n```\n")
        differences = build_manifest(handover, target, bundle)["declared_differences"]
        parts.append("What differs there:\n" if differences else "Nothing differs there.\n")
        parts += [f"* {prose(text)}" for text in differences]
        if target.check is None:
            parts.append("\nIt has no tool to be verified in.\n")
        elif target.requires:
            needs = " ".join(target.requires)
            parts.append(f"\nTo verify it there, an environment needs `{needs}`.\n")
        else:
            parts.append("\n`judgewright export verify handover` needs nothing else.\n")
    return "\n".join(parts)


def python_page(page: str) -> str:
    """Return the public names of a package by task, with their signatures and docstrings."""
    module = import_module(FACES[page])
    parts = [f"# {FACES[page]}\n\n{docstring(module)}\n"]
    for task, names in python_tasks(page).items():
        parts.append(f"## {task}\n")
        parts += [_entry(module, name) for name in names]
    return "\n".join(parts)


def python_tasks(page: str) -> dict[str, list[str]]:
    """Return the public names of a package for each task, in the order of `__all__`."""
    module = import_module(FACES[page])
    sources = _sources(module)
    tasks: dict[str, list[str]] = {task: [] for task in (*PYTHON_TASKS[page], MORE)}
    for name in module.__all__:
        source = sources.get(name, "")
        task = next((task for task, files in PYTHON_TASKS[page].items() if source in files), MORE)
        tasks[task].append(name)
    return {task: names for task, names in tasks.items() if names}


def _sources(module: ModuleType) -> dict[str, str]:
    """Return which file or folder each name of a face comes from, as its imports or its stub
    say.
    """
    face = Path(str(module.__file__))
    stub = face.with_suffix(".pyi")
    sources = dict.fromkeys(module.__all__, "")
    for node in ast.parse((stub if stub.exists() else face).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            sources |= {
                alias.asname or alias.name: node.module.partition(".")[0] for alias in node.names
            }
    return sources


def _entry(module: ModuleType, name: str) -> str:
    thing = getattr(module, name)
    head = f"### {name}\n"
    if inspect.isclass(thing):
        return f"{head}\n{_signature(name, thing)}\n{docstring(thing)}\n\n{_methods(thing)}"
    if inspect.isfunction(thing):
        return f"{head}\n{_signature(name, thing)}\n{docstring(thing)}\n"
    if isinstance(thing, dict):
        return f"{head}\nA table with {', '.join(f'`{key}`' for key in thing)}.\n"
    return f"{head}\n```text\n{name} = {thing!r}\n```\n"


def _methods(kind: type) -> str:
    lines = []
    for name, member in vars(kind).items():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name.startswith("_") or not (inspect.isfunction(plain) or isinstance(plain, property)):
            continue
        summary = (inspect.getdoc(plain) or "").partition("\n")[0]
        brackets = "" if isinstance(plain, property) else "()"
        lines.append(f"* `{name}{brackets}`: {prose(summary)}")
    return "\n".join([*lines, ""])


def _signature(name: str, thing: Callable[..., object]) -> str:
    """Return `name(...)` as it would be written; nothing where a class is not made by calling it
    with arguments.
    """
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters: list[str] = []
    starred = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parameters.append(_parameter(parameter))
    returned = ""
    if not inspect.isclass(thing) and signature.return_annotation is not signature.empty:
        returned = f" -> {_spelt(signature.return_annotation)}"
    line = f"{name}({', '.join(parameters)}){returned}"
    if len(line) > WIDTH:
        line = (
            "\n    ".join([f"{name}(", *(f"{parameter}," for parameter in parameters)])
            + f"\n){returned}"
        )
    return f"```text\n{line}\n```\n"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_spelt(parameter.annotation)}"
    default = parameter.default
    if default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    # A field made anew each time, and a seam that is an object, have no spelling of their own.
    spelt = repr(default) if isinstance(default, str | int | float | tuple | None) else "..."
    return f"{stars}{parameter.name}{kind} = {spelt}"


def _spelt(annotation: object) -> str:
    """Return an annotation as it is written; most are strings, because they are not looked up at
    import.
    """
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def docstring(thing: object) -> str:
    """Return a docstring as Markdown: prose as it is, `Args:` and its like as lists."""
    text = inspect.getdoc(thing) or ""
    if dataclasses.is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""  # the one that `dataclass` writes itself
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if head := _SECTION.fullmatch(line):
            inside = True
            lines += ["", f"**{head.group(1)}**", ""]
        elif inside and line.startswith("    ") and not line.startswith("     "):
            item = _ITEM.fullmatch(line.strip())
            lines.append(
                f"* `{item.group(1)}`: {prose(item.group(2))}"
                if item
                else f"* {prose(line.strip())}"
            )
        elif inside and line.strip():
            lines.append(f"  {prose(line.strip())}")
        else:
            inside = inside and not line.strip()
            lines.append(prose(line))
    return "\n".join(lines)


def prose(text: str) -> str:
    """Return text in which only backquotes mean anything to Markdown."""
    pieces = _CODE.split(text)
    return "".join(piece if i % 2 else _inert(piece) for i, piece in enumerate(pieces))


def _inert(text: str) -> str:
    return re.sub(r"([\\*_\[\]])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
