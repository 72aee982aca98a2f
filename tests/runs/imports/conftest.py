"""Prompts in code, and what tools saved, are read by a plug-in: without it these tests are not
there.
"""

from pathlib import Path

PLUGIN = Path(__file__).resolve().parents[3] / "plugins" / "tools"
collect_ignore = (
    []
    if PLUGIN.is_dir()
    else [
        *("test_own_prompts.py", "test_where_prompts_stand.py", "test_add_command.py"),
        *("test_bounded.py", "test_model_reading.py", "test_file_beside.py"),
    ]
)
