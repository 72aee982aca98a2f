"""Phoenix: the evaluator sends our messages over the wire, and the prompt for its store is safe or
not written.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Registry
from judgewright.runs.exports import ExportContext, fill, template_messages
from judgewright.runs.exports.phoenix import TARGET

TEXT = st.text() | st.text(alphabet="{}%#\\\"'$ \n\rxy_-")
"""Any text, and texts full of what template syntaxes read."""


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


@settings(deadline=None)
@given(text=TEXT, source=TEXT, statement=TEXT)
def test_the_stored_prompt_fills_to_our_messages_or_is_not_written(
    text: str, source: str, statement: str
) -> None:
    """One pass over `{{name}}`, as Mustache makes it."""
    prompt = replace(shipped("groundedness"), criteria=text, reply=text)
    row = {"source": source, "statement": statement}
    exported_files = TARGET.write(ExportContext(prompt=prompt, rule=prompt.rule, provenance={}))
    if "groundedness_phoenix.json" not in exported_files.files:
        assert any(
            "no prompt for Phoenix's store" in sentence for sentence in exported_files.differences
        )
        return
    messages = json.loads(exported_files.files["groundedness_phoenix.json"])
    got = [
        m | {"content": re.sub(r"\{\{(\w+)\}\}", lambda f: row[f.group(1)], m["content"])}
        for m in messages
    ]
    assert got == fill(template_messages(prompt), row)


def test_single_braces_are_not_taken_for_an_f_string(context, exported) -> None:
    """Phoenix guesses the syntax of each message unless told; of a system text with `{x}` the guess
    would be wrong.
    """
    prompt = replace(shipped("groundedness"), criteria='Write {x} or {"a": 1} as it is.')
    found = exported("phoenix", context(prompt))
    assert found.problems == ()
    assert not any("no prompt" in sentence for sentence in found.differences)


def test_a_stored_prompt_that_is_another_text_fails(context, mistaken) -> None:
    """The file beside the module is what push stores."""

    def edit(text: str) -> str:
        return (
            text.replace("Indirect evidence counts", "Indirect evidence never counts")
            if text.startswith("[")
            else text
        )

    found = mistaken("phoenix", context(shipped("groundedness")), edit)
    assert "row 3 renders as another text" in " ".join(
        found.problems
    )  # rows 1 and 2 hold {{ and are left out


def test_the_rule_in_force_stands_in_the_module(context) -> None:
    """Not the threshold the prompt was asked at."""
    changed_context = replace(context(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(changed_context).files["groundedness_phoenix.py"]
