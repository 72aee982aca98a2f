"""Jobs beside the core, each a folder with a `plugin.py` that says what it brings.

The core imports nothing of this folder: with it deleted every other command works.
"""
