"""The classes of a judge that chooses among them, as an objective may name them and their
metrics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...judges import InputError, OutputScale
from ...judges.metrics import METRICS
from .lexicon import CLASS_WORDS, Words, plain_text, tokens

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
    def words(self) -> Words:
        """What a text is read by beside the usual words; `billing_info` is also named by `billing
        info`.
        """
        classes: list[tuple[str, str, re.Pattern[str]]] = []
        for name in self.names:
            parts = re.split(r"[ _-]+", plain_text(name))
            spelling = r"[ _-]".join(map(re.escape, parts))
            classes.append(("@", name, re.compile(rf"(?<!\w){spelling}(?!\w)")))
        return (*classes, *CLASS_WORDS)

    @property
    def metrics(self) -> dict[str, str]:
        """Every metric that an objective may name, with what it is."""
        found = {name: METRICS[name].what for name in OVERALL.values()}
        for name in self.names:
            found[f"recall[{name}]"] = f"share of people's {name} that the judge calls {name}"
            found[f"precision[{name}]"] = (
                f"share of what the judge calls {name} that people call {name}"
            )
            found[f"f1[{name}]"] = f"harmonic mean of recall and precision of {name}"
        return found

    def metric_name(self, text: str) -> str:
        """Return the stored name of a metric of classes, however it is spelt: `macro F1`,
        `recall[Billing]`.

        Raises:
            InputError: There is no such metric or class.
        """
        plain = text.strip()
        bracketed = re.fullmatch(r"(.+?)\[(.+)\]", plain)
        if bracketed is not None:
            name = _spelt(bracketed[1])
            if name in OF_ONE:
                classes = [c for c in self.names if c.lower() == bracketed[2].strip().lower()]
                if classes:
                    return f"{name}[{classes[0]}]"
                raise InputError(
                    f"{text!r}: the judge has no class {bracketed[2]!r}",
                    hint="it has " + ", ".join(self.names),
                )
        name = _spelt(plain)
        if name in OVERALL or name in OVERALL.values():
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


def _spelt(text: str) -> str:
    """Return the metric that a text spells and nothing else; empty where it spells none."""
    found = list(tokens(text, CLASS_WORDS))
    return found[0].metric if len(found) == 1 else ""
