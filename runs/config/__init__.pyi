from .add_model import add_entry, entry_text
from .command_options import ModelOptions
from .environment import (
    Environment,
    NamedModel,
    open_client,
    open_model,
    parse_budget,
    read_environment,
    tool_environment,
)
from .models_file import (
    ModelEntry,
    example_entry,
    merge_entries,
    read_user_models,
    read_workspace_models,
    user_models_path,
)

__all__ = [
    "Environment",
    "ModelEntry",
    "ModelOptions",
    "NamedModel",
    "add_entry",
    "entry_text",
    "example_entry",
    "merge_entries",
    "open_client",
    "open_model",
    "parse_budget",
    "read_environment",
    "read_user_models",
    "read_workspace_models",
    "tool_environment",
    "user_models_path",
]
