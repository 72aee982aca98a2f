"""Run the command line with `python -m judgewright`."""

from .runs.cli import main

main()
