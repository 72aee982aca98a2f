"""The judge as a DSPy module, and DSPy kept to our client; the only file that imports DSPy.

DSPy 3.4 (Khattab et al., 2024) supplies the optimizers. The judge becomes a predictor with its own
inputs and reply fields; its criteria are the signature's instructions, its demonstrations the
predictor's. An adapter of ours renders every trial as the judge's own messages and reads it with
the judge's own reader, so that what is tried is what will be sent, and what DSPy's ChatAdapter
would have sent (its `[[ ## field ## ]]` headers) never is. What the optimizers ask of a model
besides goes through an engine that asks the workbench: no litellm, cache, history or terminal.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

from ...judges import JudgePrompt, Message, Request
from .demonstrations import fields_of
from .dspy_search import Search, outputs_of, prompt_from
from .prompt_parts import same_inputs
from .texts import TEXT_LIMIT

VERSION, ROW = "judgewright_version", "judgewright_row"
"""Fields of ours beside the judge's own, in DSPy's predictions and examples."""


@cache
def load_dspy() -> Any:  # Any: classes that exist only once DSPy is imported
    """Import DSPy and build our subclasses of it; its cache is never built, so that its folder is
    never made.
    """
    import dspy
    from dspy import lm15
    from dspy.propose import GroundedProposer
    from dspy.utils.callback import BaseCallback

    class JudgeAdapter(dspy.ChatAdapter):
        """Renders and reads the judge as Judgewright does; every other signature as DSPy does."""

        def __init__(self, search: Search) -> None:
            super().__init__()
            self.search = search

        def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
            search = self.search
            if tuple(signature.output_fields) != outputs_of(search.prompt):
                return super().__call__(lm, lm_kwargs, signature, demos, inputs)
            prompt = prompt_from(search, signature.instructions, demos)
            key = tuple(str(inputs[name]) for name in search.prompt.inputs)
            row = next(row for row in search.bench.rows if same_inputs(search.prompt, row) == key)
            search.judge(prompt, [row])
            verdict, _ = search.results[prompt.version, row.id]
            if verdict is None:
                fields = dict.fromkeys(outputs_of(prompt), "no verdict could be read")
            else:
                fields = fields_of(prompt, verdict.score, verdict.rationale, verdict.confidence)
            return [{**fields, VERSION: prompt.version}]

    class Prefetch(BaseCallback):
        """Has all rows of an evaluation judged at once, where DSPy would ask for one after the
        other.
        """

        def __init__(self, search: Search) -> None:
            self.search = search

        def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            predictor = inputs["program"].predictors()[0]
            prompt = prompt_from(self.search, predictor.signature.instructions, predictor.demos)
            rows = {row.id: row for row in self.search.bench.rows}
            devset = inputs.get("devset") or instance.devset
            self.search.judge(prompt, [rows[example[ROW]] for example in devset])

    class Engine:
        """Answers DSPy's own requests with the optimizer model."""

        def __init__(self, search: Search) -> None:
            self.search = search

        def complete(self, request: Any) -> Any:  # Any: lm15's
            self.search.own_requests += 1
            messages = [Message(m.role, _plain(m.parts)) for m in request.messages]
            if request.system:
                messages.insert(0, Message("system", _plain(request.system)))
            own = Request(
                messages=tuple(messages),
                temperature=request.config.temperature,
                default_max_tokens=request.config.max_tokens,
                repeat=1_000 * self.search.step + self.search.own_requests,
                purpose="optimizer",
            )
            text = self.search.ask([own])[0].text or " "
            message = lm15.Message.assistant(text)
            return lm15.Response(
                id="judgewright",
                model=request.model,
                message=message,
                finish_reason="stop",
                usage=lm15.Usage(),
            )

    class Grounded(GroundedProposer):
        """Asks for no instruction in place of the first, which is the present one."""

        def propose_instruction_for_predictor(  # type: ignore[override]  # DSPy names every argument
            self, *, predictor: Any, demo_set_i: int, **named: Any
        ) -> str:
            if demo_set_i == 0:
                return str(predictor.signature.instructions)
            return super().propose_instruction_for_predictor(
                predictor=predictor, demo_set_i=demo_set_i, **named
            )

    class Mipro(dspy.MIPROv2):
        """MIPROv2 whose instructions are grounded in a description of ours, not in a summary of
        rows.
        """

        def __init__(self, *, description: str, **settings: Any) -> None:
            super().__init__(**settings)
            self.description = description

        def _propose_instructions(
            self,
            program: Any,
            trainset: Any,
            demo_candidates: Any,
            *_: Any,
            num_instruct_candidates: int,
            **__: Any,
        ) -> Any:
            proposer = Grounded(
                program=program, trainset=trainset, prompt_model=self.prompt_model, rng=self.rng,
                # They would show the model our source; a tip, such as to give a persona, speaks
                # against the brief.
                program_aware=False, use_tip=False, set_tip_randomly=False,
                use_instruct_history=False, set_history_randomly=False,
                use_dataset_summary=False, init_temperature=self.init_temperature,
            )  # fmt: skip
            proposer.use_dataset_summary, proposer.data_summary = True, self.description
            return proposer.propose_instructions_for_program(
                trainset=trainset, program=program, demo_candidates=demo_candidates, N=num_instruct_candidates,  # noqa: E501
                trial_logs={},
            )  # fmt: skip

    def open_lm(search: Search) -> Any:
        return dspy.LM(
            "judgewright/optimizer",
            engine=Engine(search),
            cache=False,
            num_retries=0,
            temperature=0.7,
            max_tokens=TEXT_LIMIT,
        )

    def open_module(prompt: JudgePrompt) -> Any:
        fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in prompt.inputs}
        fields |= {name: (Any, dspy.OutputField()) for name in outputs_of(prompt)}
        signature = cast(Any, dspy.Signature)(
            fields, prompt.criteria
        )  # its metaclass takes fields; pyright sees the class
        return dspy.Predict(signature)

    return SimpleNamespace(
        dspy=dspy,
        JudgeAdapter=JudgeAdapter,
        Mipro=Mipro,
        Prefetch=Prefetch,
        open_lm=open_lm,
        open_module=open_module,
    )


def _plain(content: Any) -> str:  # Any: lm15's text or parts
    if isinstance(content, str):
        return content
    return "".join(str(getattr(part, "text", "")) for part in content or ())


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep DSPy, gepa, tqdm and Optuna from the terminal."""
    import optuna

    logger = logging.getLogger("dspy")
    level, verbosity = logger.level, optuna.logging.get_verbosity()
    logger.setLevel(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
        optuna.logging.set_verbosity(verbosity)
