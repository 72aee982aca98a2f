"""Execute the notebooks where they stand and store their outputs: `make notebooks`.

What two of them show comes from published verdicts in `../shared/data`; without that folder they
would show made-up ones, so those two are then left as they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PUBLISHED = {"diras_walk", "real_verdicts"}
"""Notebooks about published verdicts."""


def execute(notebook: Any, folder: Path) -> None:  # Any: nbformat's own dictionaries
    """Run every cell in a folder, and keep what does not change with the machine or the clock."""
    place = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False, resources=place)
    # A library asks for a widget that only some machines have, and names its own path.
    beside = str(ROOT / "notebooks")  # whose made-up verdicts a notebook imports
    quiet = "ignore:IProgress not found"
    client.execute(env={**os.environ, "PYTHONWARNINGS": quiet, "PYTHONPATH": beside})
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"]:
        # How far long work is goes to stderr now and then, as the clock has it.
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}


def main() -> None:
    """Execute each notebook and write it back."""
    published = (ROOT / "../shared/data/verdicts").is_dir()
    for path in NOTEBOOKS:
        if path.stem in PUBLISHED and not published:
            print(f"{path.name}: left as it is; the published verdicts (../shared/data) are not beside this checkout")
            continue
        print(f"{path.name}: running ...", flush=True)
        notebook = nbformat.read(path, as_version=4)
        execute(notebook, path.parent)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
