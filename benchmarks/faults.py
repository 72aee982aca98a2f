"""Run every fault of docs/reliability.md, as often as at night, and write the figures into the
page.

    python benchmarks/faults.py [--few] [PART_OF_A_TEST'S_NAME ...]

`make faults` runs it; it takes some twenty minutes. The tests that the page names are run one after
the other with JUDGEWRIGHT_FAULTS, which has them repeat a fault more often (500 kills, 400 damaged
logs). What they counted is kept in benchmarks/faults.json, and the page's column *measured* is
written from it; a test holds the two together. A run that was stopped goes on where it was
(benchmarks/faults.unfinished.json). Exits 1 where a fault broke its promise: then nothing is
written. With names, only those faults are run, and the others keep their figures. `--few` repeats
no fault more often than `make test` does, and writes nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURES = ROOT / "docs" / "reliability.md", ROOT / "benchmarks" / "faults.json"
UNFINISHED = FIGURES.with_suffix(".unfinished.json")
MEASURED, TEST = 3, 5
"""Columns of the page's table, counted from 1."""


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of the table; the first and the last are empty."""
    return [cell.strip() for cell in line.split("|")]


def faults_of(page: str) -> dict[str, str]:
    """Return what the page says was measured, by the name of the test."""
    lines = [cells_of(line) for line in page.splitlines() if line.startswith("| ")][1:]
    return {cells[TEST].strip("`"): cells[MEASURED] for cells in lines}


def with_figures(page: str, figures: dict[str, str]) -> str:
    """Return the page with the figures of these tests."""
    lines = []
    for line in page.splitlines(keepends=True):
        cells = cells_of(line)
        name = cells[TEST].strip("`") if line.startswith("| ") else ""
        if name in figures:
            cells[MEASURED] = figures[name]
            line = f"| {' | '.join(cells[1:-1])} |\n"
        lines.append(line)
    return "".join(lines)


def file_of(name: str) -> str:
    """Return the file of a test."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if f"def {name}(" in path.read_text(encoding="utf-8"):
            return str(path)
    raise SystemExit(f"no test is called {name}")


def run_test(name: str, *, few: bool, quiet: bool = False) -> str | None:
    """Run a test and return what its cases have measured; None where one failed or measured
    nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "figures.jsonl")
        kept.touch()
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", file_of(name), "-k", name]
        environment = (
            os.environ
            | {"JUDGEWRIGHT_FAULTS": str(kept)}
            | ({"JUDGEWRIGHT_FEW": "1"} if few else {})
        )
        code = subprocess.run(
            words, cwd=ROOT, env=environment, check=False, capture_output=quiet
        ).returncode
        lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    figures = dict.fromkeys(line["measured"] for line in lines if line["test"] == name)
    return "; ".join(figures) if figures and code == 0 else None


def read_json(path: Path) -> dict[str, str]:
    """Return the figures that a file has; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_json(path: Path, figures: dict[str, str]) -> None:
    """Write figures."""
    path.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Run the faults, and write the figures where all kept their promise."""
    page, few = PAGE.read_text(encoding="utf-8"), "--few" in sys.argv
    parts = [word for word in sys.argv[1:] if word != "--few"]
    names = [name for name in faults_of(page) if not parts or any(part in name for part in parts)]
    figures = {
        name: said for name, said in read_json(UNFINISHED).items() if name in names and not few
    }
    failed: list[str] = []
    for name in names:
        if name in figures:
            print(f"measured before this run was stopped: {name}")
        elif (said := run_test(name, few=few)) is None:
            failed.append(name)
        else:
            print(f"{name}: {said}", flush=True)
            figures[name] = said
            if not few:
                write_json(UNFINISHED, figures)
    if failed:
        print(
            f"nothing was written: a fault broke its promise, or was not tried: {', '.join(failed)}"
        )
        return 1
    if few:
        return 0
    kept = read_json(FIGURES) | figures
    kept = {name: kept[name] for name in faults_of(page) if name in kept}
    write_json(FIGURES, kept)
    PAGE.write_text(with_figures(page, kept), encoding="utf-8")
    UNFINISHED.unlink(missing_ok=True)
    print(f"{len(figures)} faults measured; see {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
