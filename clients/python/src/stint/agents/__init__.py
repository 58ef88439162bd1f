"""Limits for language models and the agents that use them: a module each for LiteLLM's proxy and for MCP servers."""
