"""Reading a line by the fast parser gives what the standard parser gives, and refuses what it
refuses.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges.files.records import parse_strictly

texts = st.text(st.sampled_from('ab":\\ \n{}[],'), max_size=8)
numbers = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.integers(2**62, 2**70)
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same, with the same types of numbers."""
    return left == right and repr(left) == repr(right)


@given(values, st.sampled_from([(", ", ": "), (",", ":"), (" ,", " :"), (",", "\t:")]))
def test_what_the_standard_parser_reads_is_read_the_same(
    value: Any, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=False)
    assert same(parse_strictly(text), json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a" : 1, "a" : 2}',
        '{"a":1,"b":{"c":1,"c":2}}',
        '[{"a":1,"a":2}]',
        r'{"a":"\":","a":"x"}',
        '{"a":":","b":1,"a":2}',
        r'{"a":1,"\u0061":2}',
    ],
)
def test_a_doubled_key_is_refused_however_it_is_written(text: str) -> None:
    with pytest.raises(ValueError, match="stands twice"):
        parse_strictly(text)
