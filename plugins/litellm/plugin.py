"""What this plug-in brings: models named `litellm/PROVIDER/MODEL`."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="litellm",
    summary="Ask Anthropic, Gemini, Bedrock and Vertex AI in their own formats.",
    model_kinds={"litellm": "judgewright.plugins.litellm.litellm_model:LiteLLMModel"},
)
