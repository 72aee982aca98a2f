"""Write what an UMBRELA prompt says: `import_umbrela.py NAME ANSWER`; all names where it is empty.

The package is found, never imported: it loads PyTorch and Pyserini, and its prompts are files.
"""

from importlib.util import find_spec
from pathlib import Path

from script_shared import answer, marks_for

MARKS = marks_for(("examples", "query", "passage"))
NOTE = (
    "UMBRELA takes its examples from judged pairs when it runs; they are left out unless you fill"
    " them."
)


def prompts():
    """Return the files of its prompts by name."""
    spec = find_spec("umbrela")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package umbrela is not installed there")
    folder = Path(next(iter(spec.submodule_search_locations)))
    return {path.stem: path for path in sorted((folder / "prompts").glob("*.txt"))}


def read(name):
    """Return what a prompt says."""
    files = prompts()
    if name not in files:
        raise SystemExit(f"UMBRELA ships no prompt {name!r}: {', '.join(files)}")
    text = files[name].read_text(encoding="utf-8")
    filled = text.format(**{field: mark for mark, field in MARKS.items()})
    final = "##final score" in text.lower()
    reply = None
    if not final and "JSON" in text and "(O)" in text:
        # The steps: how well it matches, how far it can be trusted, the grade.
        letters = [letter for letter in "MTO" if f"({letter})" in text]
        reply = {**dict.fromkeys(letters, "text"), "O": "score"}
    return {
        "location": f"umbrela/prompts/{files[name].name}",
        "messages": [{"role": "user", "content": filled}],
        "marks": {mark: field for mark, field in MARKS.items() if mark in filled},
        "scale": {"kind": "graded", "low": 0, "high": 3},
        "reply": reply,
        "mark": "##final score: ..." if final else "",
        "fills": {"examples": ""},
        "notes": [NOTE] if "{examples}" in text else [],
    }


answer("umbrela", "umbrela", lambda: list(prompts()), read)
