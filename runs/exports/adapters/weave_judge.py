"""The judge in `judge.json` as a scorer for Weave."""

import sys
from pathlib import Path
from typing import Any

import weave
from openai import OpenAI
from pydantic import Field, PrivateAttr

sys.path.append(str(Path(__file__).parent))
from judgewright_judge import judge_beside

JUDGE = judge_beside(__file__)


class Judge(weave.Scorer):
    """A scorer; a reply without a grade leaves every value None, which Weave's means leave out."""

    name: str | None = JUDGE.name
    model: str
    base_url: str | None = None
    """Any endpoint that speaks the OpenAI protocol; the key is OPENAI_API_KEY."""
    output_is: str | None = None
    """The input that is the evaluated model's output; the row holds the others."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What the request says otherwise than the judge does; None leaves a part of it out."""
    _client: OpenAI | None = PrivateAttr(default=None)

    @weave.op
    def score(self, *, output=None, **kwargs):
        """Judge one row: its inputs by name; other names are ignored."""
        row = kwargs if self.output_is is None else {**kwargs, self.output_is: output}
        self._client = self._client or OpenAI(base_url=self.base_url)
        try:
            grade, reasons = JUDGE.ask(self._client, self.model, row, self.parameters)
        except ValueError as problem:
            grade, reasons = None, f"unscored: {problem}"
        unscored = grade is None
        if JUDGE.chooses:
            return {"label": None if unscored else JUDGE.label(grade), "reason": reasons}
        positive = None if unscored else JUDGE.positive(grade)
        return {"score": grade, "positive": positive, "reason": reasons}
