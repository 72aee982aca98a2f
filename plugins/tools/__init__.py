"""Judges that other tools ship, save and build, and prompts in other languages than Python."""
