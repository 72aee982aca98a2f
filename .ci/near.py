"""Run the tests that are near what changed: `make quick` calls it, with `main` to compare with.

A test file is near a changed file of the product if it is named after it, or if it stands in the
folder of tests that mirrors the changed file's and imports one of the names defined there (from the
face or from the file). It is a first answer in a minute; `make test` before a push is the whole
one.

pytest-testmon would know more, but it needs one traced run of the whole suite first, and does not
see the many tests that start the command line in a process of its own.
"""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("judges", "slices", "optimize", "runs")
DOCUMENTS = ("tests/test_docs.py", "tests/test_readme.py")


def changed_files(base: str) -> list[str]:
    """Return the files that differ from where this branch left `base`, those not yet committed
    included.
    """
    start = _git("merge-base", base, "HEAD") or ["HEAD"]
    return sorted(
        {
            *_git("diff", "--name-only", start[0]),
            *_git("ls-files", "--others", "--exclude-standard"),
        }
    )


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    return done.stdout.splitlines() if done.returncode == 0 else []


def near_tests(changed: list[str], root: Path = ROOT) -> list[str]:
    """Return the test files, or folders of tests, to run for the changed files."""
    near: set[str] = set()
    for name in changed:
        path = Path(name)
        if path.parts[0] == "tests" and path.name.startswith("test_"):
            near.add(name)
        elif path.parts[0] == "tests" and path.parent != Path("tests"):
            near.add(str(path.parent))
        elif path.parts[0] in ROOMS:
            near.add("tests/test_structure.py")
            near.update(_tests_of(path, root))
        elif path.suffix == ".md" or path.parts[0] == "docs":
            near.update(DOCUMENTS)
        elif path.suffix == ".toml" or path.parts[0] in (".ci", ".github"):
            near.update(("tests/test_structure.py", "tests/test_install.py"))
    return sorted(name for name in near if (root / name).exists())


def _tests_of(path: Path, root: Path) -> set[str]:
    tests = root / "tests"
    # A folder without a mirror (runs/commands, runs/actions) has its tests in the nearest folder
    # above.
    mirror = next(
        folder
        for folder in (tests / path.parent, *(tests / path.parent).parents)
        if folder.is_dir()
    )
    near: set[Path] = set()
    if path.suffix == ".py":
        room = tests / path.parts[0]
        near.update(
            file for file in room.rglob("test_*.py") if _is_named_after(file.stem, path.stem)
        )
        if (root / path).exists():
            near.update(
                file for file in mirror.rglob("test_*.py") if _imports_from(file, path, root)
            )
    near = near or set(mirror.glob("test_*.py"))
    return {str(file.relative_to(root)) for file in near}


def _is_named_after(test: str, module: str) -> bool:
    return test == f"test_{module}" or test.startswith(f"test_{module}_")


def _defined(path: Path) -> set[str]:
    """Return the names that a module defines at its top level."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def _imports_from(test: Path, path: Path, root: Path) -> bool:
    """Tell whether a test takes something from a module, directly or through the face of a package
    above it.
    """
    module = ".".join(("judgewright", *path.with_suffix("").parts))
    names = {*_defined(root / path), path.stem}
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        if node.module == module:
            return True
        if module.startswith(f"{node.module}.") and any(
            alias.name in names for alias in node.names
        ):
            return True
    return False


def main() -> int:
    """Print what is run and why, run it, and return pytest's exit code."""
    changed = changed_files(sys.argv[1] if len(sys.argv) > 1 else "main")
    near = near_tests(changed)
    if not near:
        print(f"{len(changed)} files changed, no tests are near them; make test runs all")
        return 0
    print(f"{len(changed)} files changed; near them:", *near, sep="\n  ", flush=True)
    workers = ["-n", "auto", "--dist", "loadfile"] if len(near) > 1 else []
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "pytest", "-q", *workers, *near], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
