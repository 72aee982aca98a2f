"""Judges that other tools save and build, and prompts in code."""
