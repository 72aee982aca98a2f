"""Texts that look damaged: wrong decoding, characters nobody sees, letters written in two ways."""

from __future__ import annotations

import re
import unicodedata

# Bytes 0x80..0xFF as text that was decoded as Latin-1 or as Windows-1252 shows them.
_SHOWN = {
    byte: {chr(byte), *bytes([byte]).decode("cp1252", errors="ignore")}
    for byte in range(0x80, 0x100)
}


def _class(first: int, last: int) -> str:
    return (
        "["
        + re.escape(
            "".join(sorted(set().union(*(_SHOWN[byte] for byte in range(first, last + 1)))))
        )
        + "]"
    )


_REST = _class(0x80, 0xBF)
# Two-byte letters other than those with Â and Ã also occur in honest text (É before a closing
# quotation mark), so that several of them in a row are asked for; the same holds for the three-byte
# ones other than those with â.
_MOJIBAKE = re.compile(
    "|".join(
        (
            f"[ÂÃ]{_REST}",
            f"â[€\x80]{_REST}",
            f"ï»¿|ï¿½|ð[Ÿ\x9f]{_REST}{{2}}",
            f"(?:{_class(0xC4, 0xDF)}{_REST}){{3}}",
            f"(?:{_class(0xE0, 0xEF)}{_REST}{{2}}){{2}}",
            "‚Ä[ìîôòúùû¶¢]|√[©®°±¥ºß†¢£≠]",  # read as Mac Roman
        )
    )
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONTROL_BYTES = bytes(i for i in range(128) if _CONTROL.match(chr(i)))
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNSEEN = re.compile("[\u200b\u2060-\u2064\ufeff\u00ad\U000e0000-\U000e007f]")
_MARKS = re.compile("[\u0300-\u036f\u3099\u309a]")

SUSPICIONS = {
    "mojibake": "text decoded in the wrong encoding, such as â€™ for ’",
    "replacement": "U+FFFD, where a character was lost",
    "control": "control characters",
    "direction": "characters that turn the direction of writing",
    "unseen": "zero-width and other characters nobody sees",
    "decomposed": "accents written apart from their letters (not NFC)",
}
"""What can be found, with a phrase for people."""


def find_suspicions(text: str) -> tuple[str, ...]:
    """Return the names of what looks damaged in a text, keys of `SUSPICIONS` in their order.

    Joiners (U+200C, U+200D) and direction marks are passed over, because Persian, Hindi and emoji
    need them.
    """
    if text.isascii():
        plain = text.encode("ascii")
        return ("control",) if len(plain.translate(None, _CONTROL_BYTES)) < len(plain) else ()
    signs = (
        ("mojibake", _MOJIBAKE.search(text)),
        ("replacement", "\ufffd" in text),
        ("control", _CONTROL.search(text)),
        ("direction", _DIRECTION.search(text)),
        ("unseen", _UNSEEN.search(text)),
        ("decomposed", _MARKS.search(text) and not unicodedata.is_normalized("NFC", text)),
    )
    return tuple(name for name, sign in signs if sign)
