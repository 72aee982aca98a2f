"""Rows that people label: queues of them, who answers, which rows come next, and the labels as a
file.
"""
