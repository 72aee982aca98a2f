"""The made-up rows and verdicts of `judgewright demo` and the notebooks."""
