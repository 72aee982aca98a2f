"""What the commands and the Python face do, one file a verb. Nothing here reads the command line or prints."""
