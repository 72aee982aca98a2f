"""Kinds of models that are not asked in OpenAI's dialect; plug-ins bring them.

A model of such a kind is named `KIND/PROVIDER/MODEL`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

from ..plugins import brought, load

if TYPE_CHECKING:
    from ...judges import Model


class ModelKind(Protocol):
    """What a plug-in brings: a class of models."""

    def __call__(
        self,
        *,
        name: str,
        extra_body: Collection[str],
        **address: Any,  # Any: as `Address` types them
    ) -> Model:
        """Return the model of that name.

        Args:
            name: `KIND/PROVIDER/MODEL`.
            extra_body: The names of further fields that requests will have.
            address: Fields of `judges.models.address.Address`.

        Raises:
            InputError: A field cannot be sent, or the address or the key cannot be used.
        """
        ...

    def provider_of(self, name: str) -> str:
        """Return the provider in a model's name.

        Raises:
            InputError: There is none, or one that is not asked.
        """
        ...


def kind_of(model: str) -> ModelKind | None:
    """Return the kind that a model's name begins with; None for a model of an endpoint."""
    prefix, slash, _ = model.partition("/")
    path = brought("model_kinds").get(prefix) if slash else None
    return None if path is None else load(path)
