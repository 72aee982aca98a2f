"""What this plug-in brings: five commands about retrieval and answers."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="rag",
    summary="Label a corpus, tune a search, choose sources, compare ways to answer.",
    commands={"rag": "judgewright.plugins.rag.commands:rag"},
)
