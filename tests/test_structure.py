"""The house: which rooms there are, who may import whom, what the faces show, what is installed."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("judges", "slices", "optimize", "runs", "plugins")
"""In order: a room imports only rooms that stand before it."""
FACES = sorted(path.parent for room in ROOMS for path in (ROOT / room).rglob("__init__.pyi"))
"""Folders whose names load when they are used: `__init__.pyi` lists them, for type checkers and for
`__init__.py`.
"""
HEAVY = {
    *(
        "pandas",
        "sklearn",
        "scipy",
        "openai",
        "aiohttp",
        "textgrad",
        "dspy",
        "optuna",
        "litellm",
        "pyarrow",
        "rich",
    ),
    *(
        "jinja2",
        "markupsafe",
        "bm25s",
        "rapidfuzz",
        "sentencex",
        "datasets",
    ),
    *("sentence_transformers", "opentelemetry", "distributed", "dask", "psycopg"),
}
ASKED_FOR = {
    "textgrad",
    "dspy-ai",
    "optuna",
    "pandas",
    "scikit-learn",
    "jsonlines",
    "openai",
    "tiktoken",
}
SCRIPTS = ("checks", "tool_readers")
"""Folders of scripts that run in the Python that has somebody else's tool."""
MODULES = sorted(
    path
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
    if path.parent.name not in SCRIPTS
)


def imports(path: Path) -> list[tuple[str, bool]]:
    """Every module a file imports by its full name, and whether at the top of the file."""
    here = path.relative_to(ROOT).with_suffix("").parts
    package = here[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checking = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in checking:
            continue
        top = node in tree.body
        if isinstance(node, ast.Import):
            found += [(alias.name, top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            parts = [node.module] if node.module else [alias.name for alias in node.names]
            found += [(".".join((*base, part)), top) for part in parts]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_downwards(path: Path) -> None:
    """A file imports its own room and the rooms before it, nothing above."""
    room = ROOMS.index(path.relative_to(ROOT).parts[0])
    above = {name for name, _ in imports(path) if name.split(".")[0] in ROOMS[room + 1 :]}
    assert above == set()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "runs" / "actions").glob("*.py")), ids=lambda p: p.name
)
def test_an_action_returns_values_and_prints_nothing(path: Path) -> None:
    """Commands and the Python face print what an action returns; it knows neither reports nor the
    terminal.
    """
    assert not [
        name
        for name, _ in imports(path)
        if name.startswith(("runs.reports", "runs.terminal", "runs.commands"))
    ]


def test_there_is_no_circle_of_imports() -> None:
    """Following imports between files, nobody comes back to where they started."""
    names = {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
        for p in MODULES
    }
    graph = {
        name: {found for found, _ in imports(path) if found in names and found != name}
        for name, path in names.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for found in sorted(graph[name]):
                visit(found, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("face", FACES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_face_shows_what_is_there(face: Path) -> None:
    """Every name of `__init__.pyi` can be imported, and is listed; `__init__.py` defines nothing of
    its own.
    """
    module = import_module(".".join(("judgewright", *face.relative_to(ROOT).parts)))
    assert module.__doc__
    stub = ast.parse((face / "__init__.pyi").read_text(encoding="utf-8"))
    names = {
        alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(names) == module.__all__
    assert all(hasattr(module, name) for name in names)
    tree = ast.parse((face / "__init__.py").read_text(encoding="utf-8"))
    assert not [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_libraries_are_imported_where_they_are_used(path: Path) -> None:
    """Importing any of our files imports none of the heavy ones."""
    assert {name for name, top in imports(path) if top and name.split(".")[0] in HEAVY} == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_dangerous_or_hidden_is_used(path: Path) -> None:
    """No pickle, no eval or exec; environment.py alone reads the environment; imports may need some
    of it set.

    The module that is written for the lm-evaluation-harness reads who judges from there, where it
    runs.
    """
    text = path.read_text(encoding="utf-8")
    used = {name.split(".")[0] for name, _ in imports(path)}
    assert not used & {"pickle", "diskcache", "joblib", "shelve", "dill", "cloudpickle"}
    calls = {
        n.func.id
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not calls & {"eval", "exec", "compile"}
    if path.name not in ("environment.py", "import_litellm.py", "lmeval.py"):
        assert "os.environ" not in text
        assert "getenv" not in text


def test_no_other_code_folder_and_nothing_nested_deeper() -> None:
    """Five rooms; a family of kinds may have one sub-folder, a plug-in's one more, and no more but
    for scripts that run in other tools.
    """
    tracked = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    tops = {name.split("/")[0] for name in tracked if "/" in name}
    assert tops <= {*ROOMS, "tests", "notebooks", "benchmarks", "docs", ".ci"}
    ours = [
        name
        for name in tracked
        if name.split("/")[0] in ROOMS and name.split("/")[-2] not in SCRIPTS
    ]
    assert all(name.count("/") <= 2 + name.startswith("plugins/") for name in ours)


def test_the_packages_people_asked_for_are_dependencies() -> None:
    """The list is real, with the litellm floor and the openai range, and each is in the
    constraints.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[\[<>=!~; ]", line)[0]: line for line in project["dependencies"]}
    assert set(names) >= ASKED_FOR
    assert names["litellm"] == "litellm>=1.84,<2"
    assert names["openai"] == "openai[aiohttp]>=2.20,<4"
    pinned = (ROOT / "constraints.txt").read_text()
    assert all(re.search(rf"^{re.escape(name)}==", pinned, re.MULTILINE) for name in names)
    assert "://" not in pinned


def test_every_package_folder_is_packaged() -> None:
    """A new folder that is not listed would be missing from the wheel."""
    listed = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    folders = {".".join(("judgewright", *p.parent.relative_to(ROOT).parts)) for p in MODULES}
    assert listed == folders | {"judgewright"}


def test_importing_us_and_asking_for_help_is_light() -> None:
    """`--help` loads no numpy and none of the heavy libraries."""
    code = "\n".join(
        (
            "import sys",
            "from judgewright.runs.cli import main",
            "try: main(['--help'])",
            "except SystemExit: pass",
            "print(*sys.modules)",
        )
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded = {name.split(".")[0] for name in out.splitlines()[-1].split()}
    assert not loaded & (HEAVY | {"numpy", "yaml", "pydantic"})


def test_importing_the_package_loads_no_heavy_library() -> None:
    """`import judgewright` shows its functions and loads what they need when they are called."""
    code = "import sys, judgewright; judgewright.bench; print(*sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {name.split(".")[0] for name in out.split()} & (
        HEAVY | {"numpy", "yaml", "pydantic", "click", "orjson"}
    )


def test_the_changelog_names_the_simulated_models_rules() -> None:
    """The rules may not change without a line that says so."""
    from judgewright.judges import Simulated

    assert f"`{Simulated().version}`" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["optimize", "bench"])
def test_help_imports_neither_numpy_nor_the_optimizer(command: str) -> None:
    """A dataclass of options makes the help; what does the work is imported when there is work."""
    code = (
        f"import sys; from judgewright.runs.cli import cli; cli.main(['{command}', '--help'],"
        " standalone_mode=False); print([m for m in ('numpy', 'pandas', 'openai',"
        " 'judgewright.optimize.loop') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "command", ["judges list", "runs list", "judges show --help", "runs show --help"]
)
def test_light_commands_import_neither_numpy_nor_the_client(command: str, tmp_path: Path) -> None:
    """A list of prompts or runs needs the workspace only, so that it comes at once."""
    code = (
        f"import sys; from judgewright.runs.cli import cli; cli.main({command.split()},"
        " standalone_mode=False); heavy = ('numpy', 'pandas', 'openai',"
        " 'judgewright.optimize.loop', 'judgewright.judges.models.client'); print([m for m in"
        " heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_choices_that_a_command_writes_out_are_those_of_the_code() -> None:
    """They are written twice only so that a command's help imports nothing heavy."""
    from judgewright.runs import imports, reports
    from judgewright.runs.commands import judges, runs

    assert judges.SOURCES == imports.SOURCES
    assert tuple(reports.FORMATS) == runs.FORMATS
