"""Models of providers that do not speak OpenAI's dialect, asked through LiteLLM."""
