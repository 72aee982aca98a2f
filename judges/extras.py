"""Packages that not every installation has: each belongs to an extra of `pip install`."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import InputError


def require_extra(extra: str, *packages: str, purpose: str) -> None:
    """Make sure that packages are installed before something is begun that needs them.

    Args:
        extra: The extra that brings them.
        packages: Their import names.
        purpose: What needs them, as a sentence begins: `--proposer textgrad`.

    Raises:
        InputError: One is missing; the hint is the line to type.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise InputError(
            f"{purpose} needs {' and '.join(missing)}, which the light install leaves out",
            hint=f"pip install 'judgewright[{extra}]'",
        )


LIGHT_INSTALL = (
    "This is the light install, which measures and decides; to improve prompts too:"
    " pip install 'judgewright[optimize]', or uvx --from 'judgewright[optimize]' judgewright"
)
"""What is said where nobody can try `--proposer textgrad`."""


def improves() -> bool:
    """Whether the packages are installed that the usual search for a better prompt needs."""
    return find_spec("textgrad") is not None
