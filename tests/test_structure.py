"""The house: which rooms there are, who may import whom, what the faces show, what is installed."""

import ast
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from graphlib import TopologicalSorter
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
    *("sentence_transformers", "distributed", "dask", "psycopg"),
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
SCRIPTS = ("adapters", "checks")
"""Folders of scripts that run in the Python that has somebody else's tool."""
MODULES = sorted(
    path
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
    if path.parent.name not in SCRIPTS
)


@dataclass(frozen=True)
class Module:
    """What one file of the product says about itself."""

    name: str
    imports: tuple[tuple[str, bool], ...]
    """Every module it imports by its full name, and whether at the top of the file."""
    calls: frozenset[str]
    """The functions it calls by a bare name."""
    text: str

    @classmethod
    def of(cls, path: Path) -> "Module":
        """Read a file once, for all tests of this file."""
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        parts = path.relative_to(ROOT).with_suffix("").parts
        nodes = list(ast.walk(tree))
        for_checkers = {
            id(inner)
            for node in nodes
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        at_top = set(map(id, tree.body))
        imports: list[tuple[str, bool]] = []
        calls: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                calls.add(node.func.id)
            if id(node) in for_checkers:
                continue
            if isinstance(node, ast.Import):
                imports += [(alias.name, id(node) in at_top) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = parts[: len(parts) - node.level] if node.level else ()
                ends = [node.module] if node.module else [alias.name for alias in node.names]
                imports += [(".".join((*base, end)), id(node) in at_top) for end in ends]
        name = ".".join(parts).removesuffix(".__init__")
        return cls(name=name, imports=tuple(imports), calls=frozenset(calls), text=text)


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    """Every file of the product by its dotted name, each parsed once."""
    return {module.name: module for module in map(Module.of, MODULES)}


def test_imports_run_downwards(modules: dict[str, Module]) -> None:
    """A file imports its own room and the rooms before it, nothing above."""
    upwards = {
        (module.name, imported)
        for module in modules.values()
        for imported, _ in module.imports
        if imported.split(".")[0] in ROOMS[ROOMS.index(module.name.split(".")[0]) + 1 :]
    }
    assert upwards == set()


def test_an_action_returns_values_and_prints_nothing(modules: dict[str, Module]) -> None:
    """Commands and the Python face print what an action returns; it knows neither reports nor the
    terminal.
    """
    printing = {
        (module.name, imported)
        for module in modules.values()
        if module.name.startswith("runs.actions.")
        for imported, _ in module.imports
        if imported.startswith(("runs.reports", "runs.terminal", "runs.commands"))
    }
    assert printing == set()


def test_there_is_no_circle_of_imports(modules: dict[str, Module]) -> None:
    """Following imports between files, nobody comes back to where they started."""
    graph = {
        name: {imported for imported, _ in module.imports if imported in modules} - {name}
        for name, module in modules.items()
    }
    assert list(TopologicalSorter(graph).static_order())


def test_faces_show_what_is_there() -> None:
    """Every name of `__init__.pyi` can be imported, and is listed; `__init__.py` defines nothing of
    its own.
    """
    for face in FACES:
        module = import_module(".".join(("judgewright", *face.relative_to(ROOT).parts)))
        assert module.__doc__, face
        stub = ast.parse((face / "__init__.pyi").read_text(encoding="utf-8"))
        imported = [node.names for node in stub.body if isinstance(node, ast.ImportFrom)]
        names = {alias.name for aliases in imported for alias in aliases}
        assert sorted(names) == module.__all__, face
        assert [name for name in sorted(names) if not hasattr(module, name)] == [], face
        tree = ast.parse((face / "__init__.py").read_text(encoding="utf-8"))
        defined = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert defined == [], face


def test_heavy_libraries_are_imported_where_they_are_used(modules: dict[str, Module]) -> None:
    """Importing any of our files imports none of the heavy ones."""
    heavy = {
        (module.name, imported)
        for module in modules.values()
        for imported, at_top in module.imports
        if at_top and imported.split(".")[0] in HEAVY
    }
    assert heavy == set()


def test_nothing_dangerous_or_hidden_is_used(modules: dict[str, Module]) -> None:
    """No pickle, no eval or exec; environment.py alone reads the environment; imports may need some
    of it set.

    The module that is written for the lm-evaluation-harness reads who judges from there, where it
    runs.
    """
    dangerous = {"pickle", "diskcache", "joblib", "shelve", "dill", "cloudpickle"}
    for module in modules.values():
        used = {imported.split(".")[0] for imported, _ in module.imports}
        # The page's server and the process that it starts speak over a pipe of their own, as
        # multiprocessing does; nothing that lies in a file is unpickled.
        allowed = (
            {"pickle"} if module.name in ("runs.review.works", "runs.review.prepare") else set()
        )
        assert not used & dangerous - allowed, module.name
        assert not module.calls & {"eval", "exec", "compile"}, module.name
        if module.name.rpartition(".")[2] not in ("environment", "import_litellm", "lmeval"):
            assert "os.environ" not in module.text, module.name
            assert "getenv" not in module.text, module.name


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
    """The list is real, in the core or in `optimize`, with the litellm floor and the openai range,
    and each is in the constraints; `all` names every extra but those that bring gigabytes or data.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = (*project["dependencies"], *extras["optimize"])
    names = {re.split(r"[\[<>=!~; ]", line)[0]: line for line in lines}
    assert set(names) >= ASKED_FOR
    assert names["litellm"] == "litellm>=1.84,<2"
    assert names["openai"] == "openai[aiohttp]>=2.20,<4"
    pinned = (ROOT / "constraints.txt").read_text()
    assert all(re.search(rf"^{re.escape(name)}==", pinned, re.MULTILINE) for name in names)
    assert "://" not in pinned
    everything = set(re.findall(r"[a-z]+", extras["all"][0])) - {"judgewright"}
    assert everything == set(extras) - {"all", "dev", "embeddings"}


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
    heavy = ["numpy", "pandas", "openai"]
    heavy += ["judgewright.optimize.loop", "judgewright.judges.models.client"]
    assert _imported(command.split(), heavy, tmp_path) == "[]"


def test_a_bench_of_a_row_imports_neither_the_gate_nor_the_optimizer(tmp_path: Path) -> None:
    """Nor the search for slices, which so few rows do not need: it took half of its time."""
    row = '{"id": "a", "source": "It has 4 rooms.", "statement": "It has 4 rooms.", "label": 1}'
    (tmp_path / "rows.jsonl").write_text(row)
    words = ["bench", "groundedness", "rows.jsonl", "--model", "simulated"]
    parts = ["optimize.holdout.gate", "optimize.proposers", "runs.store.run_config"]
    parts += ["slices.find", "slices.slice", "optimize.events", "runs.config.optimize_options"]
    assert _imported(words, [f"judgewright.{part}" for part in parts], tmp_path) == "[]"


def _imported(words: list[str], heavy: list[str], folder: Path) -> str:
    """Run a command by its words; return which of the modules it imported, as a printed list."""
    code = (
        f"import sys; from judgewright.runs.cli import cli; cli.main({words},"
        f" standalone_mode=False); print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    return done.stdout.splitlines()[-1]


def test_choices_that_a_command_writes_out_are_those_of_the_code() -> None:
    """They are written twice only so that a command's help imports nothing heavy."""
    from judgewright.runs import reports
    from judgewright.runs.commands import runs

    assert tuple(reports.FORMATS) == runs.FORMATS
