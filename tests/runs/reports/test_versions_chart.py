"""The picture of a metric over versions: each dot a run, a link that says what it is."""

from xml.etree.ElementTree import Element, fromstring

from judgewright.runs.reports.versions_chart import MeasuredVersion, versions_chart

SVG = "{http://www.w3.org/2000/svg}"


def measured(
    version: str, value: float, *, data: str = "rows.jsonl", **given: object
) -> MeasuredVersion:
    """A version as a run measured it."""
    figure = {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 90}
    values: dict[str, object] = {"model": "m", "simulated": False, "run_id": f"run-{value}"}
    return MeasuredVersion(version=version, data=data, **{**values, "figure": figure, **given})  # type: ignore[arg-type]


def links(svg: str) -> list[Element]:
    """The links of a picture, in order."""
    return list(fromstring(svg).iter(f"{SVG}a"))


def dots(svg: str) -> list[Element]:
    """The dots that stand for runs, in order."""
    return [one for one in fromstring(svg).iter(f"{SVG}circle") if one.get("class") == "chart-run"]


def test_each_dot_leads_to_its_run_and_says_what_it_is() -> None:
    """In the order of the versions from the left, the better the higher."""
    svg = versions_chart(
        "precision", [measured("aaa", 0.5), measured("aaa", 0.6), measured("bbb", 0.7)]
    )
    assert [one.get("href") for one in links(svg)] == [
        "/runs/run-0.5",
        "/runs/run-0.6",
        "/runs/run-0.7",
    ]
    first = links(svg)[0].get("aria-label", "")
    assert first == "aaa on rows.jsonl with m: 0.500 (0.400 .. 0.600), run run-0.5"
    across = [float(one.get("cx", "")) for one in dots(svg)]
    up = [float(one.get("cy", "")) for one in dots(svg)]
    assert across == sorted(across)
    assert up == sorted(up, reverse=True)
    assert fromstring(svg).get("role") == "group"


def test_rows_have_a_colour_of_their_own_and_simulated_runs_are_hollow() -> None:
    """As many colours as can be told apart; what is made up says so."""
    names = [f"{i}.jsonl" for i in range(5)]
    svg = versions_chart("f1", [measured("aaa", 0.5, data=name) for name in names])
    colours = [one.get("stroke") for one in dots(svg)]
    assert len(set(colours[:3])) == 3
    assert colours[3] == colours[4] == "currentColor"
    assert "other rows" in svg
    assert "made up" not in svg
    made_up = versions_chart("f1", [measured("aaa", 0.5), measured("bbb", 0.6, simulated=True)])
    assert [one.get("fill") == "none" for one in dots(made_up)] == [False, True]
    assert "hollow: simulated, made up" in made_up


def test_a_figure_without_an_interval_is_a_dot_alone_and_text_stays_text() -> None:
    """A name of rows is escaped; no interval is drawn where there is none."""
    figure = {"value": 0.5, "low": None, "high": None, "n": 3}
    svg = versions_chart("f1", [measured("aaa", 0.5, figure=figure, data="<script>x</script>")])
    assert "chart-interval" not in svg
    assert "<script>" not in svg
    assert "no interval" in links(svg)[0].get("aria-label", "")
