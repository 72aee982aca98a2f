"""What this plug-in brings: `--engine dask`."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="dask",
    summary="Have a judge's calls sent by many processes or machines.",
    engines={"dask": "judgewright.plugins.dask.start:DASK"},
)
