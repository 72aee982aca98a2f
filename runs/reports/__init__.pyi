from .charts import LABEL_CELLS, confusion, reliability, slices_chart, sparkline, trajectory
from .gate_sentences import (
    describe_equal_gain,
    describe_final,
    describe_guard,
    describe_unanswered,
    gate_sentences,
)
from .picture import INK, Picture
from .plots import (
    MOST_STEPS,
    confusion_chart,
    f1_by_threshold,
    metric_intervals,
    metrics_by_slice,
    reliability_curve,
    threshold_curve,
)
from .run_export import FORMATS, export_run
from .run_pages import render_html, render_markdown
from .score_report import DISAGREEMENTS, MOST_CHARTED, MOST_LISTED, render_score_report
from .slice_plots import (
    NAME_CELLS,
    NAME_LINES,
    SliceBar,
    draw_slices,
    plot_found,
    plot_measured,
    tabulate_found,
    tabulate_measured,
    write_picture,
)
from .slice_report import WIDTH
from .terminal_report import METRIC_ORDER, say_event

__all__ = [
    "DISAGREEMENTS",
    "FORMATS",
    "INK",
    "LABEL_CELLS",
    "METRIC_ORDER",
    "MOST_CHARTED",
    "MOST_LISTED",
    "MOST_STEPS",
    "NAME_CELLS",
    "NAME_LINES",
    "WIDTH",
    "Picture",
    "SliceBar",
    "confusion",
    "confusion_chart",
    "describe_equal_gain",
    "describe_final",
    "describe_guard",
    "describe_unanswered",
    "draw_slices",
    "export_run",
    "f1_by_threshold",
    "gate_sentences",
    "metric_intervals",
    "metrics_by_slice",
    "plot_found",
    "plot_measured",
    "reliability",
    "reliability_curve",
    "render_html",
    "render_markdown",
    "render_score_report",
    "say_event",
    "slices_chart",
    "sparkline",
    "tabulate_found",
    "tabulate_measured",
    "threshold_curve",
    "trajectory",
    "write_picture",
]
