"""Decide as the simulated judge does: a latent score from the features, cut into grades, with
bounded noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from .prompt import Instructions, Scale
from .rules import Rules, TaskName, bell, draw
from .text import Features, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the simulated judge thinks of one row."""

    level: int
    """Index of the chosen level; 0 or 1 on a probability scale."""
    score: str
    """The answer as it is written."""
    position: float
    """Where the row stands on the scale, in [0, 1]; 0.5 is the cut that makes it positive."""
    confidence: float
    shares: tuple[float, ...]
    """A probability per level, for log-probabilities."""
    features: Features


class Judge:
    """Applies instructions to features."""

    def __init__(self, rules: Rules, reader: Reader) -> None:
        self._rules = rules
        self._reader = reader

    def decide(
        self,
        task: TaskName,
        instructions: Instructions,
        features: Features,
        *,
        repeat: int = 0,
        temperature: float | None = 0.0,
        texts: tuple[str, ...] = (),
    ) -> Opinion:
        """Grade one row; equal arguments give equal opinions.

        Args:
            task: What is judged.
            instructions: What the prompt asks for.
            features: The row's features.
            repeat: Which repetition this is; other repetitions differ a little.
            temperature: More of it means more difference between repetitions.
            texts: The texts of the row, read only where a label is chosen by its words; one text is
                routed.
        """
        latent = self._latent(instructions, features) + self._noise(
            instructions, features, repeat, temperature
        )
        cuts = self._rules.tasks[task].cuts
        position = _position(latent - instructions.cut, cuts)
        scale, count = instructions.scale, len(instructions.scale.levels)
        distance = abs(latent - instructions.cut - cuts[1])
        routed = len(texts) == 1
        if not scale.ordered or (routed and scale.plain):
            level, lead = self._choice(scale, texts)
            if routed:
                distance = self._rules.confidence["lead"] * lead
            confidence = self._confidence(distance, features, instructions, repeat)
            other = (1.0 - confidence) / max(1, count - 1)
            shares = tuple(confidence if i == level else other for i in range(count))
        else:
            confidence = self._confidence(distance, features, instructions, repeat)
            if scale.levels:
                level, shares = min(count - 1, int(position * count)), _shares(position, count)
            else:
                level, shares = int(position >= 0.5), (1.0 - position, position)
        return Opinion(
            level=level,
            score=(
                scale.levels[level] if scale.levels else f"{round(_turned(position, scale), 2):g}"
            ),
            position=position,
            confidence=confidence,
            shares=shares,
            features=features,
        )

    def _latent(self, instructions: Instructions, features: Features) -> float:
        return sum(w * v for w, v in zip(instructions.weights, features.values, strict=True) if w)

    def _noise(
        self, instructions: Instructions, features: Features, repeat: int, temperature: float | None
    ) -> float:
        noise = self._rules.noise
        heat = noise["default_temperature"] if temperature is None else temperature
        # What is wrong about a row stays wrong however it is asked; the rest differs from repeat to
        # repeat.
        row = noise["row"] * instructions.row_noise * bell("row", features.digest)
        again = (noise["repeat"] + noise["temperature"] * heat) * bell(
            "repeat", features.digest, repeat
        )
        wording = noise["wording"] * bell("wording", features.digest, instructions.text)
        slips = self._slip(features.digest, "repeat", repeat) + self._slip(
            features.digest, "wording", instructions.text
        )
        return row + slips + instructions.noise * (again + wording)

    def _slip(self, row: bytes, cause: str, of: str | int) -> float:
        """A lapse of attention: rare, and as likely up as down."""
        at, noise = draw("slip", cause, row, of), self._rules.noise
        if at >= noise["slip_share"]:
            return 0.0
        return noise["slip"] if at < noise["slip_share"] / 2 else -noise["slip"]

    def _confidence(
        self, distance: float, features: Features, instructions: Instructions, repeat: int
    ) -> float:
        rules = self._rules.confidence
        spread = rules["spread"] * bell("confidence", features.digest, instructions.text, repeat)
        return round(
            max(0.5, min(rules["top"], rules["base"] + rules["slope"] * distance + spread)), 2
        )

    def _choice(self, scale: Scale, texts: tuple[str, ...]) -> tuple[int, float]:
        """Return the label whose name and description share most words with the row, the first on a
        tie, and its lead.

        The lead is the distance to the next label, as a share of what the two have together: 0 on a
        tie.
        """
        words = set(self._reader.keys(" ".join(texts)[:4000]))
        described = [
            set(self._reader.keys(f"{label} {scale.anchors.get(label, '')}"))
            for label in scale.levels
        ]
        shared = [len(words & own) / max(1, len(own)) ** 0.5 for own in described]
        best, second = sorted(shared, reverse=True)[:2]
        lead = (best - second) / (best + second) if best else 0.0
        return shared.index(best), lead


def _turned(share: float, scale: Scale) -> float:
    """Return the probability to write for a position on the scale."""
    return 1.0 - share if scale.low_is_good else share


def _position(latent: float, cuts: tuple[float, float, float]) -> float:
    """Map the latent score to [0, 1] so that the cuts fall on a quarter, a half and three
    quarters.
    """
    low, middle, high = cuts
    if latent < middle:
        position = 0.5 - 0.25 * (middle - latent) / (middle - low)
    else:
        position = 0.5 + 0.25 * (latent - middle) / (high - middle)
    return max(0.0, min(1.0, position))


def _shares(position: float, count: int) -> tuple[float, ...]:
    raw = []
    for i in range(count):
        # The written level is the likeliest: the middle of the nearest level decides both.
        middle = (i + 0.5) / count
        raw.append(2.0 ** -(((position - middle) * count * 1.6) ** 2) + 1e-4)
    total = sum(raw)
    return tuple(share / total for share in raw)
