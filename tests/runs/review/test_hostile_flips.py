"""Rows that attack the page of flips, one kind of hostile text after the other.
docs/reliability.md.
"""

import json
from collections.abc import Callable

import pytest

from judgewright.judges import Registry
from judgewright.runs.actions import both_sides, flips_of, read_run, start_run
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review.row_lists import ROWS_PER_PAGE
from judgewright.runs.store import RunConfig, Workspace

from .conftest import GOOD, Elements, Made, count_foreign, visit, when_done

SPOILT = {
    "markup": "</p><script>alert(1)</script><img src=x onerror=alert(1)>",
    "an attribute": '" onmouseover="alert(1)" x=\'',
    "a template": "{{ 7 * 7 }}{% raw %}${7*7}<%= 7 %>",
    "a comment": "<!-- --><![CDATA[ ]]><?php ?>",
    "entities": "&lt;script&gt;&#x3c;script&#x3e;&nbsp;",
    "an address": "javascript:alert(1) data:text/html,<b>x</b>",
    "a terminal": "\x1b]52;c;b3duZWQ=\x07\x1b[2J\x00\x08",
    "a turned line": "\u202edesrever\u2066\u200b\ufeff",
    "lines": "\r\n\u2028\u2029\x85\x0b\x0c",
    "marks upon marks": "o" + "\u0301" * 500,
    "a long word": "x" * 10_000,
    "deep brackets": "[" * 5_000,
}
"""Texts that rows may hold, by what they attack."""


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A finished run whose rows hold all of `SPOILT`."""
    root = tmp_path_factory.mktemp("spoilt")
    path = root / "rows.jsonl"
    write_demo_rows(path, documents=60)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for i, row in enumerate(rows):
        texts = list(SPOILT.values())
        row["source"] += f"\n[mark {row['id']}] {' '.join(texts)}"
        row["shelf"] = texts[i % len(texts)][:1000]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    prompt = Registry().get("groundedness")
    edit = prompt.edited(criteria=f"{prompt.criteria}\n{GOOD}").to_yaml()
    config = RunConfig(
        prompt=prompt.to_yaml(),
        model="simulated",
        data=str(path),
        objective="raise precision",
        proposer="human",
        edit=edit,
    )
    with Workspace(root) as place:
        result = start_run(place, config, Environment())
    return Made(root=root, run_id=result.run_id, sealed=(), opened=tuple(row["id"] for row in rows))


def test_hostile_rows_are_all_shown_among_the_flips_and_do_nothing(
    spoilt: Made, measured: Callable[[str], None]
) -> None:
    """Every flip stands on a page with the text of its row; none becomes markup, or a character
    that drives.
    """
    with Workspace(spoilt.root) as place:
        found = flips_of(both_sides(place, read_run(place, spoilt.run_id))).rows
    shown, largest, markup = set[str](), 0, 0
    with visit(spoilt.root) as page:
        for number in range(1, len(found) // ROWS_PER_PAGE + 2):
            answer = when_done(page, f"/runs/{spoilt.run_id}/flips?page={number}")
            assert answer.status_code == 200
            largest = max(largest, len(answer.content))
            markup += count_foreign(answer.text) + answer.text.count("<script") - 1
            text = Elements(answer.text).text
            shown |= {flip.row_id for flip in found if f"[mark {flip.row_id}]" in text}
    measured(
        f"{len(found)} flips with {len(SPOILT)} kinds of hostile text: {len(shown)} shown, {markup}"
        f" became markup or a control character, {largest / 1e6:.1f} MB the largest page"
    )
    assert {flip.row_id for flip in found} == shown != set()
    assert markup == 0
