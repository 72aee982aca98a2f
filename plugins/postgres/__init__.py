"""A workspace on a PostgreSQL server, which many processes and machines write at once."""
