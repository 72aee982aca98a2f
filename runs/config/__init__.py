"""What the caller says: the environment, keys and their hosts, the models file."""
