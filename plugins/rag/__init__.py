"""Judges at work in retrieval: what queries mean, which passages matter, and what answers to."""
