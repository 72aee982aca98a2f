"""A model that answers what a test wrote."""

from judgewright.judges import Completion, Request


class Scripted:
    """Answers with a fixed text."""

    name, endpoint, simulated = "scripted", "https://scripted.invalid/v1", False

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[Request] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer once."""
        self.asked.append(request)
        return Completion(text=self.text)

    async def close(self) -> None:
        """Hold nothing open."""
