"""An objective, and the loss that is written for it."""
