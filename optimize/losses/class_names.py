"""The classes of a judge that chooses among them, as an objective may name them and their
metrics.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import InputError, OutputScale
from ...judges.metrics import METRICS
from .objective import plain_name

OVERALL = {"f1": "f1_macro_grades", "accuracy": "accuracy_grades", "kappa": "kappa_grades"}
"""The metric of all classes that is meant where one of two classes is named."""
OF_ONE = ("recall", "precision", "f1", "specificity")
"""The metrics of one class."""


@dataclass(frozen=True, slots=True)
class ClassNames:
    """The classes that an objective may be about."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, scale: OutputScale) -> ClassNames | None:
        """Take those of a scale; None where it has none to choose among."""
        return cls(scale.labels) if scale.kind == "choice" else None

    @property
    def metrics(self) -> dict[str, str]:
        """Every metric that an objective may name, with what it is."""
        meanings = {name: METRICS[name].what for name in OVERALL.values()}
        for name in self.names:
            meanings[f"recall[{name}]"] = f"share of people's {name} that the judge calls {name}"
            meanings[f"precision[{name}]"] = (
                f"share of what the judge calls {name} that people call {name}"
            )
            meanings[f"f1[{name}]"] = f"harmonic mean of recall and precision of {name}"
        return meanings

    def metric_name(self, text: str) -> str:
        """Return the stored name of a metric of classes: `F1` or `macro F1` is that of all
        classes, `recall[Billing]` that of one.

        Raises:
            InputError: There is no such metric or class.
        """
        outside, bracket, inside = text.strip().partition("[")
        name = plain_name(outside).removeprefix("macro_")
        if bracket and name in OF_ONE:
            class_name = inside.removesuffix("]").strip()
            for one in self.names:
                if one.lower() == class_name.lower():
                    return f"{name}[{one}]"
            raise InputError(
                f"{text!r}: the judge has no class {class_name!r}",
                hint="it has " + ", ".join(self.names),
            )
        if not bracket and (name in OVERALL or name in OVERALL.values()):
            return OVERALL.get(name, name)
        raise InputError(
            f"{text!r} is not a metric of a judge that chooses among classes", hint=self.hint
        )

    @property
    def hint(self) -> str:
        """Say how a metric is named."""
        first = self.names[0]
        return (
            "name the metric with --target: f1_macro_grades (macro F1), accuracy_grades,"
            f" kappa_grades, or that of one class: recall[{first}], precision[{first}], f1[{first}]"
        )
