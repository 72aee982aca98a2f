"""A catalogue, what is left of it for a question, and the choice: by hand, and against brute
force.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from judgewright.judges import (
    Client,
    DataError,
    Dataset,
    InputError,
    OutputScale,
    Registry,
    Row,
    Simulated,
    Unscored,
    Verdict,
    measure,
)
from judgewright.plugins.rag.routing import (
    Candidates,
    Catalog,
    Keywords,
    among,
    choose,
    find_candidates,
    first_retrieved,
    in_order_of,
    narrowed,
    read_catalog,
    router_of,
)

CATALOG = """\
sources:
  - name: orders
    description: Customer orders with prices, invoices and refunds
    synonyms: [sales, bills]
    tables:
      order_lines: {amount: what was paid, placed_at: the date of the order}
      refunds: [reason]
    questions:
      - Which invoices of March have not been paid?
      - How much did we sell in May?
      - Who asked for a refund?
  - name: inventory
    description: "Stock of each product in each warehouse, suppliers"
    only: {region: [north, South]}
  - name: support
    description: Tickets and complaints of customers
    only: {region: north, team: [help desk]}
  - {name: staff, description: "Employees, shifts, holidays, salaries"}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Four sources, two of them for some rows only."""
    (tmp_path / "c.yaml").write_text(CATALOG)
    return read_catalog(tmp_path / "c.yaml")


def questions(
    *texts: str, region: str | None = "north", team: str = "help desk", label: float = 0.0
) -> Dataset:
    """Rows with a question each."""
    rows = [
        Row(
            id=f"q{i}",
            inputs={"question": text},
            label=label,
            meta={"region": region, "team": team},
        )
        for i, text in enumerate(texts)
    ]
    return Dataset.of(
        rows, labels=OutputScale(kind="choice", labels=("orders", "inventory", "support", "staff"))
    )


def test_the_judge_is_told_what_the_catalogue_says(catalog: Catalog) -> None:
    """Description, synonyms, tables with their columns, two questions; retrieval reads all."""
    prompt = router_of(catalog, Registry().get("routing"))
    assert prompt.scale.labels == ("orders", "inventory", "support", "staff")
    assert (
        prompt.scale.anchors["orders"]
        == "Customer orders with prices, invoices and refunds. Also called sales, bills. Table"
        " order_lines: amount, placed_at. Table refunds: reason. Answers for example: Which"
        " invoices of March have not been paid? How much did we sell in May?"
    )
    text = catalog.sources[0].text
    assert all(
        part in text
        for part in ("order lines", "placed at the date of the order", "Who asked for a refund?")
    )
    with pytest.raises(InputError, match="groundedness does not choose"):
        router_of(catalog, Registry().get("groundedness"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sources: []", "it has 0 sources, and a choice needs two"),
        ("a: 1", "sources: Field required"),
        ("sources: [{name: a}]", r"sources\.0\.description: Field required"),
        ("sources: [{name: a, description: b, colour: red}]", r"sources\.0\.colour: Extra inputs"),
        (
            "sources: [{name: a, description: b}, {name: A, description: c}]",
            "the source 'a' stands twice",
        ),
        ("sources: [{name: a, description: b, only: 3}]", r"sources\.0\.only"),
        ("sources: [{name: &x a, description: *x}]", "aliases"),
        ("sources: [", "no catalogue"),
    ],
)
def test_a_damaged_catalogue_is_refused_by_field(tmp_path: Path, text: str, message: str) -> None:
    """The file and the field are named."""
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_catalog(tmp_path / "c.yaml")
    assert "c.yaml" in str(error.value)


def test_rows_see_the_sources_that_are_open_to_them(catalog: Catalog) -> None:
    """A source with a condition is for rows with one of its values; the nearest of these are left,
    best first.
    """
    keywords = Keywords([source.text for source in catalog.sources])
    text = "Which salaries do we pay in the warehouse?"
    for region, team, allowed in (
        ("north", "help desk", (0, 1, 2, 3)),
        ("SOUTH", "help desk", (0, 1, 3)),
        ("north", "finance", (0, 1, 3)),
        ("east", "help desk", (0, 3)),
        (None, "help desk", (0, 3)),
    ):
        found = find_candidates(questions(text, region=region, team=team), catalog, keywords, k=2)
        scores = keywords.scores(text)
        best = sorted(allowed, key=lambda i: (-scores[i], i))[:2]
        assert (found.allowed, found.nearest) == ((allowed,), (tuple(best),))
    bare = Dataset.of(
        [Row(id="q", inputs={"question": text}, label=0.0, meta={"region": "north"})], labels=None
    )
    with pytest.raises(
        DataError, match="source 'support', field 'only': no row has the column 'team'"
    ):
        find_candidates(bare, catalog, keywords)


def test_words_are_compared_by_their_stems_and_those_that_say_nothing_are_left_out() -> None:
    """`invoice` and `invoicing` are one; a question of function words alone is near nothing."""
    keywords = Keywords(["Invoices of the year", "What is in the house and of it"])
    assert keywords.scores("invoicing")[0] > 0
    assert keywords.scores("what is in it and of the").tolist() == [0.0, 0.0]


def test_the_judge_chooses_among_the_candidates_alone_and_one_is_no_question(
    catalog: Catalog,
) -> None:
    """Choices lie among the candidates, under the catalogue's numbers; no candidate is no choice,
    and not wrong.
    """
    prompt = router_of(catalog, Registry().get("routing"))
    data = questions(
        "Which employees take holidays?", "Stock of kettles?", "Anything?", "Who is on shift?"
    )
    found = Candidates(
        allowed=((0, 1, 2, 3),) * 4,
        nearest=((3, 0), (2,), (), (1, 3, 0, 2)),
        k=4,
        retriever="keywords",
    )
    with Client(Simulated()) as client:
        judged = choose(prompt, data, found, client)
        assert client.stats.calls == 2
    first, second, third, fourth = judged.answers
    assert isinstance(first, Verdict)
    assert isinstance(second, Verdict)
    assert isinstance(third, Unscored)
    assert isinstance(fourth, Verdict)
    assert (first.score, second.score, fourth.score) == (3.0, 2.0, 3.0)
    assert judged.simulated
    assert [
        a.score for a in first_retrieved(prompt, data, found).answers if isinstance(a, Verdict)
    ] == [3, 2, 1]
    narrow = narrowed(prompt, (3, 1))
    assert narrow.scale.labels == ("inventory", "staff")
    assert set(narrow.scale.anchors) == {"inventory", "staff"}
    assert "Customer orders" not in narrow.system_text()
    assert narrowed(prompt, (2, 0, 3, 1)) is prompt


def test_what_is_left_holds_the_right_source_as_often_as_counted(catalog: Catalog) -> None:
    """The recall of a stage is the share of labelled rows whose source is there."""
    rows = [
        Row(id=str(i), inputs={"question": "?"}, label=None if i == 9 else float(i % 4))
        for i in range(10)
    ]
    data = Dataset.of(rows, labels=OutputScale(kind="choice", labels=catalog.names))
    kept = measure(among(data, [(0, 1)] * 10)).metrics["accuracy"]
    assert (kept.value, kept.n) == (pytest.approx(5 / 9), 9)


def test_a_judge_of_other_sources_is_refused_and_another_order_is_followed(
    catalog: Catalog,
) -> None:
    """Numbers are those of the judge's scale."""
    prompt = router_of(Catalog(catalog.sources[::-1]), Registry().get("routing"))
    assert in_order_of(prompt, catalog).names == ("staff", "support", "inventory", "orders")
    with pytest.raises(InputError, match="differ in the sources orders"):
        in_order_of(prompt, Catalog(catalog.sources[1:]))
    with pytest.raises(InputError, match="does not choose"):
        in_order_of(Registry().get("groundedness"), catalog)
