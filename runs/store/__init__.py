"""What a workspace keeps: calls, runs, events, looks; one SQLite file and one writer."""
