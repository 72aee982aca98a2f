"""A judge's calls sent by the workers of a dask cluster."""
