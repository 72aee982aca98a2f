"""Tools for coding agents (MCP), and a skill that tells them how to measure honestly."""
