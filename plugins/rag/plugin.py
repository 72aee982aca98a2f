"""What this plug-in brings: five commands about retrieval and answers, and TREC's passages."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="rag",
    summary="Label a corpus, tune a search, choose sources, compare ways to answer.",
    commands={"rag": "judgewright.plugins.rag.commands:rag"},
    data_sources={"trec_dl": "judgewright.plugins.rag.search.trec_dl:TREC_DL"},
)
