"""What the readers share; it is copied beside the one that runs, and imports nothing but the
standard library.
"""

import json
import logging
import sys
import warnings
from importlib.metadata import version
from pathlib import Path


def marks_for(fields):
    """Return a mark for each field: what stands for it while the tool writes its prompt."""
    return {f"zqmark{number}zq": field for number, field in enumerate(fields)}


def answer(tool, package, names, read):
    """Write what a script was asked for, as JSON to the file that its last argument names.

    Args:
        tool: What the answer calls it.
        package: The distribution whose version is said.
        names: Returns the names of its judges, asked for by an empty first argument.
        read: Returns what a judge of that name sends.
    """
    name, path = sys.argv[1], Path(sys.argv[2])
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    body = {"name": name, **read(name)} if name else {"names": names()}
    body["tool"] = f"{tool} {version(package)}"
    path.write_text(json.dumps(body), encoding="utf-8")
