"""Labels that people gave in an annotation tool, read from its exports as rows."""
