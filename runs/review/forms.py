"""Reading the forms that a browser sends."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ...judges import InputError

MAX_FORM = 1_000_000
"""Bytes of a form; a longer one is refused."""


async def read_form(request: Request) -> dict[str, list[str]]:
    """Read the fields of a plain form.

    Raises:
        HTTPException: It is too long, or not such a form.
    """
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise HTTPException(415, "a plain form is expected")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM:
                raise HTTPException(413, f"a form of more than {MAX_FORM:,} bytes is not read")
    except ClientDisconnect:
        raise HTTPException(400, "the form did not arrive whole") from None
    try:
        return parse_qs(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=1_000, errors="strict"
        )
    except ValueError:
        raise HTTPException(400, "the form is not readable") from None


def field_of(request: Request, name: str) -> str:
    """Return the one value of a field, empty where the form has none.

    Raises:
        InputError: The form says it several times.
    """
    values = request.state.form.get(name, [""])
    if len(values) != 1:
        raise InputError(f"the form says {name} {len(values)} times")
    return str(values[0])
