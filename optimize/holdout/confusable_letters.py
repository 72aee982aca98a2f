"""Texts without their disguise: letters that look like others, accents, spaces and signs that a
reader passes over.

The table holds the letters of Latin, Greek, Cyrillic, Armenian, Cherokee, Coptic and Lisu that
Unicode Technical Standard 39 (confusables.txt, version 15) draws like a letter or digit of ASCII,
and their lower case where that is not drawn like another one. Characters whose compatibility form
is plain, such as full-width letters, need no entry.
"""

from __future__ import annotations

import re
import unicodedata

_ALIKE = {
    "2": "ƧϨꙄꝚƨϩꙅꝛ",
    "3": "ƷȜЗӠⳌꝪꞫʒȝзӡⳍꝫɜ",
    "4": "Ꮞꮞ",
    "5": "Ƽ",
    "6": "бᏮⳒꮾⳓ",
    "8": "Ȣȣ",
    "9": "ⳊꝮⳋꝯ",
    "a": "ɑΑαАаᎪꓮꭺ",
    "b": "ƄΒВЬᏏᏴꓐꞴƅβвьꮟᏼꞵ",
    "c": "ϲϹСсᏟᴄⲤⲥꓚꮯ",
    "d": "ԁᎠᏧꓒꓓꭰꮷ",
    "e": "ΕЕеҽᎬꓰꬲεꭼ",
    "f": "ϜքẝꓝꞘꞙꬵϝ",
    "g": "ƍɡԌցᏀᏳᶃꓖԍꮐᏻ",
    "h": "ΗНһհᎻᏂⲎꓧηнꮋꮒⲏ",
    "i": "ıɩɪιіӏᎥꙇꭵ",
    "j": "ͿϳЈјᎫꓙꞲꭻʝ",
    "k": "ΚКᏦⲔꓗκкꮶⲕ",
    "l": "ƖǀΙІӀᏞⲒⳐꓡꓲꮮⲓⳑ",
    "m": "ΜϺМᎷⲘꓟμϻмꮇⲙ",
    "n": "ΝոռⲚꓠⲛ",
    "o": "ΟοσОоՕօᴏᴑⲞⲟꓳꬽ",
    "p": "ΡρϱРрᏢⲢⲣꓑꮲ",
    "q": "ԛգզ",
    "r": "ƦгᎡᏒᴦⲅꓣꭇꭈꮁʀꭱꮢ",
    "s": "ƽЅѕՏᏕᏚꓢꜱꮪտꮥ",
    "t": "ΤТᎢⲦꓔτтꭲⲧ",
    "u": "ʋυՍսᴜꓴꞟꭎꭒ",
    "v": "νѴѵᏙᴠꓦꮩ",
    "w": "ɯѡԜԝաᎳᏔᴡꓪꮃꮤ",
    "x": "ΧХхⲬꓫꞳχⲭꭓ",
    "y": "ɣʏΥγϒУуҮүᎩᎽᶌỿⲨꓬꭚꭹꮍⲩ",
    "z": "ΖᏃᴢꓜꮓζ",
}
_DRAWN_ALIKE = {ord(letter): plain for plain, letters in _ALIKE.items() for letter in letters}
_BLANK = dict.fromkeys(map(ord, "\u115f\u1160\u3164\uffa0"))
"""Letters by their category that nobody sees: the fillers of Hangul."""
_NO_LETTER = re.compile(r"[\W_]+")
_NO_LETTER_OF_ASCII = re.compile(r"[^a-z0-9]+")


def letters_of(text: str) -> str:
    """Return the letters and digits of a text as they are drawn, those that look alike as one, and
    nothing between.

    `l`, `I` and `1` are one letter, as are `o` and `0`; so what comes out is for comparing and not
    for reading.
    """
    if text.isascii():
        plain = _NO_LETTER_OF_ASCII.sub("", text.casefold())
    else:
        plain = unicodedata.normalize("NFKD", text)
        # Decomposed, so that a mark added to a letter falls away with what is no letter or digit.
        plain = _NO_LETTER.sub("", plain.translate(_DRAWN_ALIKE).casefold().translate(_BLANK))
    return plain.replace("i", "l").replace("1", "l").replace("0", "o")
