"""What the commands of this plug-in do, without a terminal."""
