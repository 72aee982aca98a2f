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
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

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


@lru_cache(maxsize=16)
def _load(name: str) -> tiktoken.Encoding | None:
    """Return an encoding whose file is on this disk, None for any other.

    Its constructor runs with globals of our own, so that tiktoken itself stays as it is in other
    threads.
    """
    import tiktoken
    from tiktoken_ext import openai_public

    if name not in openai_public.ENCODING_CONSTRUCTORS:
        return None
    own = dict(vars(openai_public))
    for word, value in vars(openai_public).items():
        if isinstance(value, FunctionType) and value.__module__ == openai_public.__name__:
            own[word] = FunctionType(value.__code__, own, word, value.__defaults__)
    own |= {"load_tiktoken_bpe": _local_ranks, "data_gym_to_mergeable_bpe_ranks": _local_ranks}
    try:
        return tiktoken.Encoding(**own[name]())
    except LookupError:
        return None


def _local_ranks(url: str = "", expected_hash: str = "", **_: str) -> dict[bytes, int]:
    """Read an encoding's file; gpt2's are of another format, and come without a URL.

    Raises:
        LookupError: It is in neither tiktoken's own temporary folder nor that of LiteLLM.
    """
    folders = [Path(tempfile.gettempdir(), "data-gym-cache")]
    # Only the parent package is looked up: find_spec("litellm.x") would import litellm, which goes
    # online.
    spec = find_spec("litellm")
    for folder in (spec and spec.submodule_search_locations) or ():
        folders.append(Path(folder, "litellm_core_utils", "tokenizers"))
    # tiktoken's own way of naming the files of its cache.
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    for folder in folders:
        with suppress(OSError):
            content = (folder / name).read_bytes()
            if hashlib.sha256(content).hexdigest() == expected_hash:
                pairs = (line.split() for line in content.splitlines() if line)
                return {base64.b64decode(token): int(rank) for token, rank in pairs}
    raise LookupError(name)
