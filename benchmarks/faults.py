"""Run every fault of docs/reliability.md, as often as at night, and write the figures into the page.

    python benchmarks/faults.py [--few] [PART_OF_A_TEST'S_NAME ...]

`make faults` runs it. The tests that the page names are run one after the other with JUDGEWRIGHT_FAULTS, which has
them repeat a fault more often (500 kills, 400 damaged logs). What they counted is kept in benchmarks/faults.json, and
the page's column *measured* is written from it; a test holds the two together. Exits 1 where a fault broke its promise:
then nothing is written. With names, only those faults are run, and the others keep their figures. `--few` repeats no
fault more often than `make test` does.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURES = ROOT / "docs" / "reliability.md", ROOT / "benchmarks" / "faults.json"
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


def run_tests(names: list[str], *, few: bool) -> dict[str, str] | None:
    """Run tests and return what each has measured, its cases together; None where one failed or measured nothing."""
    files = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f"def {name}(" in text for name in names):
            files.append(str(path))
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "figures.jsonl")
        kept.touch()
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *files, "-k", " or ".join(names)]
        environment = os.environ | {"JUDGEWRIGHT_FAULTS": str(kept)} | ({"JUDGEWRIGHT_FEW": "1"} if few else {})
        code = subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode
        lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    figures: dict[str, list[str]] = {}
    for line in lines:
        figures.setdefault(line["test"], []).append(line["measured"])
    missing = [name for name in names if name not in figures]
    if missing:
        print(f"no figures of {', '.join(missing)}")
    if code or missing:
        return None
    return {name: "; ".join(dict.fromkeys(figures[name])) for name in names}


def main() -> int:
    """Run the faults, and write the figures where all kept their promise."""
    page = PAGE.read_text(encoding="utf-8")
    parts = [word for word in sys.argv[1:] if word != "--few"]
    names = [name for name in faults_of(page) if not parts or any(part in name for part in parts)]
    figures = run_tests(names, few="--few" in sys.argv)
    if figures is None:
        print("nothing was written: a fault broke its promise, or was not tried")
        return 1
    kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    kept = {name: (kept | figures)[name] for name in faults_of(page) if name in kept | figures}
    FIGURES.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(with_figures(page, kept), encoding="utf-8")
    print(f"{len(figures)} faults measured; see {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
