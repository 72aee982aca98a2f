"""Counting tokens without a network: exact where the encoding is on this disk, a stated estimate
elsewhere.

tiktoken downloads an encoding it does not have, without a time-out and under a lock. So its
constructors run here with a loader that reads local files only; what is not on disk is estimated.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tiktoken

ESTIMATE = "estimate: 1/4 token a character, 3/4 for Chinese, Japanese and Korean"

# Ideographs with their extensions and compatibility forms, kana, hangul, full-width forms.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_PIECE = 400_000
"""Characters counted at once: tiktoken 0.14 panics on a run of a million spaces, past any `except
Exception`.
"""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens and how it was found."""

    n: int
    exact: bool
    method: str
    """`tiktoken ENCODING`, or the rule of the estimate in words."""


def count_tokens(text: str, model: str) -> TokenCount:
    """Count the tokens of a text for a model.

    Args:
        text: What to count; special tokens in it count as the plain text they are.
        model: The model's name; a prefix such as `openai/` is ignored.
    """
    name = _encoding_name(model)
    encoding = None if name is None else _load(name)
    if encoding is None:
        return TokenCount(approximate_tokens(text), exact=False, method=ESTIMATE)
    if len(text) <= _PIECE:
        return TokenCount(
            len(encoding.encode_ordinary(text)), exact=True, method=f"tiktoken {name}"
        )
    # Cutting may split a token in two, so the count is no longer exact.
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    n = sum(len(encoding.encode_ordinary(piece)) for piece in pieces)
    return TokenCount(n, exact=False, method=f"tiktoken {name}, in pieces")


def approximate_tokens(text: str) -> int:
    """Return the stated estimate: a quarter token a character, three quarters for CJK."""
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return math.ceil((len(text) - cjk) / 4 + cjk * 3 / 4)


def estimate_tokens(text: str) -> int:
    """Return a cheap estimate that is rarely too low, for reserving a budget: half a token a UTF-8
    byte.

    English needs two fifths of that; dense JSON, Hindi and emoji under older encodings need nearly
    all of it.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return (size + 1) // 2


def _encoding_name(model: str) -> str | None:
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(model.removeprefix("openai/"))
    except KeyError:
        return None


class _NotOnDiskError(LookupError):
    """An encoding file is in none of the local folders."""


@lru_cache(maxsize=16)
def _load(name: str) -> tiktoken.Encoding | None:
    import tiktoken

    constructor = _local_constructors(_folders()).get(name)
    if constructor is None:
        return None
    try:
        return tiktoken.Encoding(**constructor())
    except _NotOnDiskError:
        return None


def _folders() -> list[Path]:
    """Return tiktoken's own temporary folder and that of the files LiteLLM brings."""
    folders = [Path(tempfile.gettempdir(), "data-gym-cache")]
    # Only the parent package is looked up: find_spec("litellm.x") would import litellm, which goes
    # online.
    spec = find_spec("litellm")
    if spec is not None:
        for folder in spec.submodule_search_locations or []:
            folders.append(Path(folder, "litellm_core_utils", "tokenizers"))
    return folders


def _local_constructors(
    folders: list[Path],
) -> dict[str, Callable[[], dict[str, Any]]]:  # Any: tiktoken's arguments
    """Return tiktoken's constructors of encodings, bound to a loader that reads these folders and
    nothing else.

    Their code is run with globals of our own, so that tiktoken itself stays as it is in other
    threads.
    """
    from tiktoken_ext import openai_public

    def load(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        ranks: dict[bytes, int] = {}
        for line in _read(url, expected_hash, folders).splitlines():
            if line:
                token, rank = line.split()
                ranks[base64.b64decode(token)] = int(rank)
        return ranks

    def refuse(*_: str, **__: str) -> dict[bytes, int]:
        raise _NotOnDiskError("gpt2 has another file format")

    own = dict(vars(openai_public))
    for name, value in vars(openai_public).items():
        if isinstance(value, types.FunctionType) and value.__module__ == openai_public.__name__:
            own[name] = types.FunctionType(
                value.__code__, own, name, value.__defaults__, value.__closure__
            )
    own |= {"load_tiktoken_bpe": load, "data_gym_to_mergeable_bpe_ranks": refuse}
    return {name: own[name] for name in openai_public.ENCODING_CONSTRUCTORS}


def _read(url: str, expected_hash: str | None, folders: list[Path]) -> bytes:
    # tiktoken's own way of naming the files of its cache.
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    for folder in folders:
        try:
            content = (folder / name).read_bytes()
        except OSError:
            continue
        if expected_hash is None or hashlib.sha256(content).hexdigest() == expected_hash:
            return content
    raise _NotOnDiskError(name)
