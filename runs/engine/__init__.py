"""Calls sent from many processes: the cluster, what its driver gives out, and what a worker
does.
"""
