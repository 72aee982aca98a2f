"""What this plug-in brings to `judges add`: judges that other tools saved, and prompts in code."""

from ...runs.plugins import Plugin

_HERE = "judgewright.plugins.tools"
PLUGIN = Plugin(
    name="tools",
    summary="Add judges that other tools saved, and prompts in code.",
    prompt_readers={
        "saved objects": f"{_HERE}.saved_objects:READER",
        "Python": f"{_HERE}.python_files:READER",
        "source files": f"{_HERE}.source_strings:READER",
    },
)
