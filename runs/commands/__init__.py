"""One file a command: each parses, calls one function, prints."""
