"""The search for the settings of a walk, in a study of its own."""
