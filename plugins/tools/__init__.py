"""Judges that other tools ship, save and build, and prompts in code."""
