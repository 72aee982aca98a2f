"""A process of its own that calls a function for the review's server; see `works.py`."""

from __future__ import annotations

import os
import pickle
import sys

from ...judges import JudgewrightError


def main() -> None:
    """Call the function that the server names on stdin, and give back on stdout what came of it."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints
    function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  # our own server wrote it
    with answer:
        try:
            result, error = function(*arguments), None
        except JudgewrightError as raised:
            result, error = None, raised
        pickle.dump((result, error), answer)


if __name__ == "__main__":
    main()
