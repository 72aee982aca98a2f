"""Import LiteLLM, and whatever brings it along, without its downloads, its `.env` and its
messages.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from ...judges.extras import require_extra

_ENVIRONMENT = {
    "LITELLM_MODE": "PRODUCTION",  # otherwise it loads the .env of the current folder
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
"""What LiteLLM is told where it would look things up or download them."""


@contextmanager
def variables_set(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for libraries that read them while they are imported, and only as
    long.
    """
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@cache
def load_litellm() -> Any:  # Any: its module
    """Return LiteLLM, which is silent unless the program has loaded it for itself before.

    Raises:
        InputError: It is not installed.
    """
    require_extra("optimize", "litellm", purpose="a model asked by LiteLLM")
    first = "litellm" not in sys.modules
    with variables_set(_ENVIRONMENT):
        import litellm
        from litellm import anthropic_beta_headers_manager

        # It would be downloaded with the first request, when the variables are as they were.
        anthropic_beta_headers_manager._load_beta_headers_config()
        with warnings.catch_warnings():
            # Pydantic builds its types on first use, and warns of some of them: in the middle of a
            # request.
            warnings.simplefilter("ignore")
            litellm.ModelResponse()
            import litellm.llms.vertex_ai.context_caching.vertex_ai_context_caching
    if first:
        litellm.suppress_debug_info = True
        logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm


@contextmanager
def litellm_deferred() -> Iterator[None]:
    """Let a library import `litellm.completion` without loading LiteLLM, which takes seconds,
    before it is called.
    """
    if "litellm" in sys.modules:
        yield
        return

    def completion(*args: Any, **kwargs: Any) -> Any:  # Any: what LiteLLM takes and returns
        return load_litellm().completion(*args, **kwargs)

    stand_in = ModuleType("litellm")
    vars(stand_in)["completion"] = completion
    sys.modules["litellm"] = stand_in
    try:
        yield
    finally:
        sys.modules.pop("litellm", None)
