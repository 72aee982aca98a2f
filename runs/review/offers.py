"""What each tool would make of a judge, in a line each."""

from __future__ import annotations

from dataclasses import dataclass

from ..exports import TARGETS, ExportContext, Refused, Target, pack_export


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool, and what a judge would be there."""

    target: Target
    files: int
    differences: tuple[str, ...]
    refused: str
    """Why it cannot carry the judge; empty where it can."""


def offers_of(context: ExportContext) -> tuple[Offer, ...]:
    """Try every target; nothing is written."""
    return tuple(_offer(context, target) for target in TARGETS.values())


def _offer(context: ExportContext, target: Target) -> Offer:
    try:
        packed = pack_export(context, target)
    except Refused as error:
        return Offer(target=target, files=0, differences=(), refused=str(error))
    differences = tuple(packed.body["declared_differences"])
    return Offer(target=target, files=len(packed.files) - 1, differences=differences, refused="")
