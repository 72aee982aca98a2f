"""What a model is shown of the file round a prompt: names, comments, comparisons, labels and small
numbers.

Every other literal is hidden, because any of them may be a key: what a secret looks like cannot be
listed.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 16_000
"""Of a longer file, what stands nearest to the prompt is shown."""
ELSEWHERE = "[...]"
"""Stands for lines of the prompt, which the model is shown apart, and for what is too far away."""
_CODE = (
    *(
        ".py",
        ".ipynb",
        ".toml",
        ".json",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".mts",
        ".jsx",
        ".tsx",
        ".go",
        ".java",
        ".kt",
    ),
    *(".rb", ".php", ".cs", ".rs", ".swift", ".scala", ".c", ".cpp", ".dart"),
)
"""Files whose literals are in quotes; in all others, of keys and values or of text, any word may be
one.
"""
_SHORTEST_LINE = 12
"""A shorter line may stand in the prompt and in the code by chance."""
_LONGEST_NAME = 20
"""Of a name with digits, less two for each of them."""
_NEAR = 200
"""Characters of a long line on either side that say what a literal is."""
_MOST_HUMPS = 3
"""Capitals within a name."""
_HIDDEN = "***"
_COMMENT = {"#": r"#[^\n]*", "/": r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"}
_STRING = (
    r"(?P<text>(?P<quote>\"\"\"|''')(?:\\[\s\S]|(?!(?P=quote))[\s\S])*(?:(?P=quote)|\Z)"
    r"|\"(?:\\[\s\S]|[^\"\\\n])*(?:\"|$)|'(?:\\[\s\S]|[^'\\\n])*(?:'|$)|`(?:\\[\s\S]|[^`\\])*(?:`|\Z))"
)
_BARE = r"(?P<bare>[^\W_][\w.]*)"
_PATTERN = r"(?P<pattern>[=(,:;!&|?{}]\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)"
"""A regular expression of JavaScript, whose quotes open no text."""
_NUMBER = re.compile(r"[-+]?[0-9]{1,4}(?:\.[0-9]{1,4})?%?")
_COMPARISON = re.compile(r"([\w.]{1,40})\s*(?:[<>]=?|[=!]=)\s*[-+]?[0-9]{1,4}(?:\.[0-9]{1,4})?%?")
"""Such as `score > 0.25`, in a setting."""
_WORDS = re.compile(r"[^\W\d_]{1,20}(?:[ _-][^\W\d_]{1,20}){0,2}")
_IS_LABEL = re.compile(r"[=!]=|\b(?:case|in|enum|Enum|Literal)\b")
"""On a line with one of these, words in quotes are what an answer is compared with, or may be."""
_OF_SCHEMA = re.compile(
    r"(?:\b(?:description|desc|direction)\s*=|\.describe\(|[\"'](?:description|type)[\"']\s*:)\s*$"
    r"|[\"'](?:output|response)_?[sS]chema[\"']\s*:\s*\{[^{}]*$"
)
"""Before a text of the schema of an answer, whose plain words say what a field holds."""
_SECRET = re.compile(
    r"pass(?!ed|es|ing|\b)|pwd|\bpw\b|\bpin\b|secret|token|credential|auth|cookie|bearer|private|api.?key|session|hook",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(\s*(?:export\s+|-\s+)?[\w.-]+\s*[:=]\s*)(.*)")


def file_beside(text: str, prompt: str, suffix: str = ".py") -> str:
    """Return a file without the lines of its prompts and without literals; empty where nothing else
    is in it.

    The suffix of its name tells code from settings.
    """
    own = {line.strip() for line in prompt.splitlines() if len(line.strip()) >= _SHORTEST_LINE}
    masked = _Mask(prompt, own).of(text, suffix)
    lines = [ELSEWHERE if line.strip() in own else line for line in masked.splitlines()]
    shown_lines = [
        line
        for at, line in enumerate(lines)
        if line != ELSEWHERE or lines[at - 1 : at] != [ELSEWHERE]
    ]
    if not any(re.search(r"\w", line) for line in shown_lines if line != ELSEWHERE):
        return ""
    return _nearest("\n".join(shown_lines).strip("\n"))


class _Mask:
    """Hides the literals of a file that its prompt does not hold."""

    def __init__(self, prompt: str, own: set[str]) -> None:
        self._own = own
        self._words = set(re.findall(r"[^\W_]+", prompt.casefold()))
        self._in_key = False

    def of(self, text: str, suffix: str) -> str:
        """Return the text with `***` for what is hidden."""
        if suffix not in _CODE or text.startswith("---\n"):
            return "\n".join(map(self._setting, text.split("\n")))
        styles = {".py": "#", ".ipynb": "#", ".toml": "#"}.get(
            suffix, "#/" if suffix in (".rb", ".php") else "/"
        )
        comments = "|".join(_COMMENT[style] for style in styles)
        piece = re.compile(rf"(?P<comment>{comments})|{_PATTERN}|{_STRING}|{_BARE}", re.MULTILINE)

        def hidden(match: re.Match[str]) -> str:
            if match["comment"]:
                return "\n".join(map(self._comment, match[0].split("\n")))
            if match["pattern"]:
                return f"{match[0].partition('/')[0]}/{_HIDDEN}/"
            if match["bare"]:
                return match[0] if self._is_plain(match[0], digits=4) else _HIDDEN
            return self._literal(match)

        return piece.sub(hidden, text)

    def _literal(self, match: re.Match[str]) -> str:
        quote = match["quote"] or match[0][0]
        inner = match[0][len(quote) :].removesuffix(quote)
        near = max(0, match.start() - _NEAR)
        before = match.string[near : match.start()].rpartition("\n")[2]
        after = match.string[match.end() : match.end() + _NEAR]
        line = before + match.string[match.start() : match.end() + _NEAR].partition("\n")[0]
        key = re.match(r"\s*:", after) and re.search(r"(?:^|[{,])\s*$", before)
        graded = re.match(r"\s*:\s*-?[0-9.]+\s*[,}\n]", after) or re.search(
            r"[0-9]\s*:\s*$", before
        )
        label = key or graded or _IS_LABEL.search(line)
        worded = _WORDS.fullmatch(inner) and all(map(self._is_plain, inner.split()))
        if self._is_known(inner) or (label and worded and (key or not _SECRET.search(line))):
            return match[0]
        if _OF_SCHEMA.search(match.string[near : match.start()]) and not _SECRET.search(line):
            words = (word if self._is_plain(word) else _HIDDEN for word in inner.split(" "))
            return quote + " ".join(words) + quote
        lines = [
            one if not one.strip() or one.strip() in self._own else _HIDDEN
            for one in inner.split("\n")
        ]
        return quote + ("\n".join(lines) if len(lines) > 1 else _HIDDEN) + quote

    def _setting(self, line: str) -> str:
        """Mask a line of keys and values, which are in no quotes."""
        if line.strip() in self._own:
            return line
        line, mark, comment = (
            line.partition("#") if re.match(r"\s*#|.*\s#", line) else (line, "", "")
        )
        pair = _PAIR.fullmatch(line)
        name, value = pair.groups() if pair and self._is_plain(pair[1].strip(" :=")) else ("", line)
        if _SECRET.search(name) or not self._is_known(value):
            value = re.sub(r"[^\s,\[\]{}:\"']+", lambda word: self._word(word[0]), value)
        return name + re.sub(r"\*\*\*(?: \*\*\*)+", _HIDDEN, value) + self._comment(mark + comment)

    def _word(self, word: str) -> str:
        return word if self._is_known(word) or not re.search(r"\w", word) else _HIDDEN

    def _comment(self, line: str) -> str:
        """Mask in a comment what is no word of a sentence, and all of it where it names a secret or
        is a key's line.
        """
        words = line.strip("#/* \t").split()
        if not words or line.strip() in self._own:
            return line
        if len(words) > 2 and "-----" not in line:
            self._in_key = False
        masked_words = [word if self._is_plain(word) else _HIDDEN for word in words]
        for at, word in enumerate(words):
            paired = words[at - 1 : at] == ["="] or (
                at == 1 and len(words) == 2 and words[0][-1] in ":="
            )
            if (paired or re.fullmatch(r"\w+[=:]\S+", word)) and not self._is_known(word):
                masked_words[at] = _HIDDEN
        if "-----" in line or (len(words) == 1 and masked_words == [_HIDDEN]):
            self._in_key = "-----END" not in line
        if _SECRET.search(line) or self._in_key or "-----" in line:
            masked_words = [_HIDDEN]
        indent = line[: len(line) - len(line.lstrip("#/* \t"))]
        return indent + " ".join(masked_words) if masked_words != words else line

    def _is_known(self, text: str) -> bool:
        """Whether a text is a small number, a few words of the prompt, which the model is shown
        anyway, or a comparison of the two.
        """
        compared = _COMPARISON.fullmatch(text.strip())
        if compared:
            return self._is_known(compared[1])
        words = re.findall(r"[^\W_]+", text.casefold())
        return bool(_NUMBER.fullmatch(text.strip())) or (
            0 < len(words) <= 3 and self._words.issuperset(words)
        )

    def _is_plain(self, word: str, *, digits: int = 0) -> bool:
        """Whether a word without quotes is one of a language or a name, with at most so many
        digits, and of no key.
        """
        core = word.strip(".,;:!?()[]{}<>=\"'`*%|~→-")
        if self._is_known(word) or not re.search(r"\w", core):
            return True
        if all(map(_NUMBER.fullmatch, re.split(r"[-–.,/:]+", core))):
            return True
        count, humps = len(re.findall(r"[0-9]", core)), len(re.findall(r"(?<=[a-z])[A-Z]", core))
        if (
            count > digits
            or humps > _MOST_HUMPS
            or (count and len(core) > _LONGEST_NAME - 2 * count)
        ):
            return False
        worded = re.fullmatch(r"\w{1,30}(?:[-'’/.|,][^\W\d]{1,20}){0,3}", core)
        return worded is not None and not re.fullmatch(r"[0-9a-fA-F]{10,}", core)


def _nearest(text: str) -> str:
    """Return the piece of a long text round the prompt, or its beginning where no line is the
    prompt's.
    """
    if len(text) <= MOST_CHARACTERS:
        return text
    middle = max(text.find(ELSEWHERE), MOST_CHARACTERS // 2)
    start = min(middle - MOST_CHARACTERS // 2, len(text) - MOST_CHARACTERS)
    piece = text[start : start + MOST_CHARACTERS]
    return (
        (ELSEWHERE if start else "")
        + piece
        + (ELSEWHERE if start + MOST_CHARACTERS < len(text) else "")
    )
