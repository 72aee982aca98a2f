"""Install this checkout with pip and tell how far it is: `make demo` and `make test` call it.

pip says nothing with --quiet and hundreds of lines without; this passes on what a person waits for.
"""

import subprocess
import sys

EVERY = 25
"""Packages between two lines."""
BIG = 20.0
"""Megabytes from which a download is told."""


def tell(line: str, seen: int) -> int:
    """Print what a line of pip's means to who waits; return how many packages have been looked up
    by now.
    """
    words = line.split()
    if line.startswith("Collecting "):
        seen += 1
        if seen % EVERY == 0:
            print(f"  {seen} packages looked up ...", flush=True)
    elif words[:1] == ["Downloading"] and words[-1] == "MB)" and float(words[-2].strip("(")) >= BIG:
        print(
            f"  downloading {words[1].split('/')[-1].split('-')[0]}, {words[-2].strip('(')} MB ...",
            flush=True,
        )
    elif line.startswith("Installing collected packages:"):
        print(f"  unpacking {len(words) - 3} packages; this takes a minute or two ...", flush=True)
    return seen


def main() -> int:
    """Run pip with the arguments given, and return its exit code; what it complains of comes
    through.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--progress-bar=off",
    ]
    with subprocess.Popen([*command, *sys.argv[1:]], stdout=subprocess.PIPE, text=True) as pip:  # noqa: S603  # our own
        assert pip.stdout is not None
        seen, last = 0, []
        for line in pip.stdout:
            last = [*last[-20:], line]
            seen = tell(line.strip(), seen)
    if pip.returncode:
        sys.stderr.writelines(last)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main())
