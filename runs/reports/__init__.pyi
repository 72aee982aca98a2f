from .charts import (
    MOST_STEPS,
    NAME_CELLS,
    MetricRow,
    confusion,
    confusion_chart,
    f1_by_threshold,
    metric_intervals,
    metric_rows,
    plot_found,
    plot_measured,
    reliability,
    slices_chart,
    threshold_curve,
    trajectory,
)
from .drawing import LABEL_CELLS, fit_label, write_picture
from .numbers import METRIC_ORDER
from .printing import WIDTH
from .rendering import Exact, open_templates
from .run_export import FORMATS, export_run
from .run_view import render_html, render_markdown
from .score_report import DISAGREEMENTS, MOST_CHARTED, MOST_LISTED, render_score_report
from .sentences import (
    describe_equal_gain,
    describe_evidence,
    describe_final,
    describe_guard,
    describe_unanswered,
)
from .terminal_report import say_event

__all__ = [
    "DISAGREEMENTS",
    "FORMATS",
    "LABEL_CELLS",
    "METRIC_ORDER",
    "MOST_CHARTED",
    "MOST_LISTED",
    "MOST_STEPS",
    "NAME_CELLS",
    "WIDTH",
    "Exact",
    "MetricRow",
    "confusion",
    "confusion_chart",
    "describe_equal_gain",
    "describe_evidence",
    "describe_final",
    "describe_guard",
    "describe_unanswered",
    "export_run",
    "f1_by_threshold",
    "fit_label",
    "metric_intervals",
    "metric_rows",
    "open_templates",
    "plot_found",
    "plot_measured",
    "reliability",
    "render_html",
    "render_markdown",
    "render_score_report",
    "say_event",
    "slices_chart",
    "threshold_curve",
    "trajectory",
    "write_picture",
]
