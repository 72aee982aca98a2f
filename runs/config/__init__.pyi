from .environment import (
    Environment,
    open_client,
    open_model,
    parse_budget,
    read_environment,
    split_model,
    tool_environment,
)
from .models_file import example_entry, read_user_models, user_models_path
from .options import ModelOptions

__all__ = [
    "Environment",
    "ModelOptions",
    "example_entry",
    "open_client",
    "open_model",
    "parse_budget",
    "read_environment",
    "read_user_models",
    "split_model",
    "tool_environment",
    "user_models_path",
]
