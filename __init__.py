"""Judgewright: measure an LLM judge against human labels and improve its prompt where it errs."""
