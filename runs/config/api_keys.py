"""Choose the API key for an address. A key belongs to one origin, and only the user binds the two.

There are four ways: an entry of the user's own `models.yaml`, `JUDGEWRIGHT_BASE_URL` for
`JUDGEWRIGHT_API_KEY`, `OPENAI_BASE_URL` for `OPENAI_API_KEY`, and the usual variable of a provider
in `PROVIDERS` for that provider's origin. Without `JUDGEWRIGHT_BASE_URL` its key goes to the one
address that the command names as `NAME@URL` and that has no other key. An address from a workspace
binds nothing: it is called only if the command or the user's configuration names it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...judges import InputError
from ...judges.models import Origin
from .models_file import FILE, example_entry

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
OPENAI_URL = "OPENAI_BASE_URL"
OWN_KEY = "JUDGEWRIGHT_API_KEY"
OWN_URL = "JUDGEWRIGHT_BASE_URL"


PROVIDERS: Mapping[str, tuple[str, str]] = {
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
}
"""Where a model named `KIND/PROVIDER/MODEL` is asked unless the user says otherwise, and the
variable of that origin's key.
"""


def provider_bindings(variables: Mapping[str, str]) -> tuple[Binding, ...]:
    """Return the usual key of each provider, bound to the provider's own origin."""
    bindings: list[Binding] = []
    for provider, (base_url, variable) in PROVIDERS.items():
        key = variables.get(variable) or None
        bindings.append(
            Binding(
                origin=Origin.of(base_url),
                variable=variable,
                key=key,
                source=f"the usual key of {provider}",
            )
        )
    return tuple(bindings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """An origin from the user's configuration, and its key."""

    origin: Origin
    variable: str | None
    """The environment variable that holds the key; None for an origin without a key."""
    key: str | None = field(default=None, repr=False)
    """Also None if the variable is not set."""
    source: str
    """Where the binding stands: a variable such as `OPENAI_BASE_URL`, or file and line."""
    final: bool = False
    """Whether no other key may be used instead, as for an entry of `models.yaml`."""

    @property
    def settles(self) -> bool:
        """Whether no other key may go to the origin."""
        return self.final or self.key is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The keys of one command."""

    bindings: tuple[Binding, ...] = ()
    """The first that fits wins."""
    commanded: frozenset[str] = frozenset()
    """Base URLs that the user names in this command."""
    spare: str | None = field(default=None, repr=False)
    """JUDGEWRIGHT_API_KEY, if no JUDGEWRIGHT_BASE_URL says which origin it is for."""
    path: Path | None = None
    """The user's `models.yaml`."""
    providers: tuple[Binding, ...] = ()
    """The addresses in `PROVIDERS`; what the user binds to them wins."""
    commanded_providers: frozenset[str] = frozenset()
    """Of these, those that the user names in this command."""
    listed_providers: frozenset[str] = frozenset()
    """Of these, those that the user's `models.yaml` names."""

    def binding(self, origin: Origin) -> Binding | None:
        """Return the key for an origin: the bound one, else the spare one if only this origin can
        mean it.
        """
        bound = self._bound(origin)
        if bound is not None and bound.settles:
            return bound
        unsettled = [Origin.of(url) for url in self._unsettled()]
        if self.spare is not None and unsettled == [origin]:
            return Binding(origin=origin, variable=OWN_KEY, key=self.spare, source="the command")
        return bound

    def names(self, origin: Origin) -> bool:
        """Whether this command or the user's configuration names an origin."""
        # The key of a provider names nobody: it may be there for other programs.
        if any(binding.origin == origin for binding in self.bindings):
            return True
        urls = self.commanded | self.commanded_providers | self.listed_providers
        if any(Origin.of(url) == origin for url in urls):
            return True
        # A user without any key has nothing to lose to a server on this machine.
        keyless = self.spare is None and all(binding.key is None for binding in self.bindings)
        return keyless and origin.loopback

    def require_one_owner(self) -> None:
        """Check that JUDGEWRIGHT_API_KEY can belong to one origin only.

        Raises:
            InputError: The command names two origins it could belong to.
        """
        unsettled = self._unsettled()
        if self.spare is None or len(unsettled) < 2:
            return
        one, other = unsettled[:2]
        raise InputError(
            f"{OWN_KEY} is one key, and the command names {one} and {other}; neither may see a key"
            " of the other",
            hint=(
                f"set {OWN_URL} to the one it belongs to, or add a line for each to {self.file},"
                f" without key_variable where none is needed:\n  {example_entry(one)}\n "
                f" {example_entry(other)}"
            ),
        )

    def require_named(self, base_url: str, *, who: str) -> None:
        """Check that this user named an address.

        Args:
            who: Whose request it is, for the message.

        Raises:
            InputError: Only a workspace names it; nothing was sent.
        """
        origin = Origin.of(base_url)
        if self.names(origin):
            return
        usual = next(
            (binding.variable for binding in self.providers if binding.origin == origin), None
        )
        raise InputError(
            f"{who} would ask {base_url}, an address out of the workspace that neither this command"
            " nor your configuration names; nothing was sent",
            hint=(
                f"if you trust it, repeat the command with --allow-origin {origin}, or add this"
                f" line to {self.file}:\n "
                f" {example_entry(base_url, key=not origin.loopback, variable=usual)}"
            ),
        )

    def what_to_do(self, base_url: str) -> str:
        """Say how to give an address the key it asks for, or what to check about the one it
        refused.
        """
        origin = Origin.of(base_url)
        binding = self.binding(origin)
        if binding is not None and binding.key:
            return (
                f"{origin} refused the key in {binding.variable} ({binding.source}): check it, and"
                " what it may use"
            )
        if binding is not None and binding.variable:
            return (
                f"no key was sent: put the key of {origin} into {binding.variable}"
                f" ({binding.source})"
            )
        if binding is not None:
            return (
                f"no key was sent: {binding.source} has no key_variable; add one, and put the key"
                " into that variable"
            )
        line = (
            f"add this line to {self.file}, and put the key into its variable:\n "
            f" {example_entry(base_url)}"
        )
        if any(other.variable == OWN_KEY for other in self.bindings):
            return f"no key was sent, as {OWN_KEY} belongs to {OWN_URL}; {line}"
        return f"no key was sent: put the key of {origin} into {OWN_KEY}, or {line}"

    def flags(self) -> str:
        """Return the `--allow-origin` options that another command on the same run needs."""
        others = replace(self, commanded=frozenset(), commanded_providers=frozenset())
        origins = {Origin.of(url) for url in self.commanded | self.commanded_providers}
        return "".join(
            f" --allow-origin {origin}" for origin in sorted(origins) if not others.names(origin)
        )

    @property
    def file(self) -> str:
        """The user's file, for messages."""
        return str(self.path or f"~/.config/judgewright/{FILE}")

    def _bound(self, origin: Origin) -> Binding | None:
        """Return the binding of an origin; one that settles its key wins over an earlier one that
        does not.
        """
        fallback = None
        for binding in (*self.bindings, *self.providers):
            if binding.origin != origin:
                continue
            if binding.settles:
                return binding
            fallback = fallback or binding
        return fallback

    def _unsettled(self) -> list[str]:
        """Return one address for each origin of the command to which JUDGEWRIGHT_API_KEY could
        go.
        """
        # Reversed, so that of two addresses with one origin the first in the alphabet is kept.
        urls = {Origin.of(url): url for url in sorted(self.commanded, reverse=True)}
        settled = {
            binding.origin for binding in (*self.bindings, *self.providers) if binding.settles
        }
        return [url for origin, url in sorted(urls.items()) if origin not in settled]
