"""What decides on sealed rows: the gate with its guards, and the ledger that counts its looks."""
