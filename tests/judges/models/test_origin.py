"""Whether two addresses are one server, and which of them are not taken."""

import pytest

from judgewright.judges import InputError
from judgewright.judges.models import Origin, checked_url


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://host/v1", "https://HOST:443/v2/", True),
        ("http://host/v1", "http://host:80", True),
        ("http://[::1]:8000/v1", "http://[::1]:8000", True),
        ("https://host/v1", "http://host/v1", False),
        ("https://host/v1", "https://host:8443/v1", False),
        ("https://host/v1", "https://host.example/v1", False),
        ("https://host/v1", "https://host./v1", False),
        ("http://127.0.0.1:1/v1", "http://localhost:1/v1", False),
    ],
)
def test_scheme_host_and_port_make_an_origin(one: str, other: str, same: bool) -> None:
    """The path does not."""
    assert (Origin.of(one) == Origin.of(other)) is same


@pytest.mark.parametrize(
    ("url", "shown", "loopback"),
    [
        ("https://host/v1", "https://host", False),
        ("http://127.0.0.9:80/v1", "http://127.0.0.9", True),
        ("http://localhost:11434/v1", "http://localhost:11434", True),
        ("http://[::1]:8000/v1", "http://[::1]:8000", True),
        ("http://127.0.0.1.evil.example/v1", "http://127.0.0.1.evil.example", False),
        ("http://localhost.evil.example/v1", "http://localhost.evil.example", False),
    ],
)
def test_an_origin_says_what_it_is(url: str, shown: str, loopback: bool) -> None:
    """As a URL without a path; this machine is told by its address, not by how a name begins."""
    origin = Origin.of(url)
    assert (str(origin), origin.loopback) == (shown, loopback)
    assert Origin.of(str(origin)) == origin


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://good.example\\@evil.example/v1",
            "https://good.example\\.evil.example/v1",
            "https://go\tod.example",
        ),
        *(
            "https://good.example\n.evil.example/v1",
            " https://good.example/v1",
            "https://good.example /v1",
        ),
        *(
            "https://good.example%2eevil.example/v1",
            "https://g\u014dod.example/v1",
            "https://good.example\u200b/v1",
        ),
        *(
            "https://good.example?@evil.example",
            "https://good.example#@evil.example",
            "https://good.example/v1?",
        ),
        *(
            "https://good.example@evil.example/v1",
            "https://[::1/v1",
            "https://:443/v1",
            "https://h:0/v1",
            "//h/v1",
            "",
        ),
        *(
            "file:///etc/passwd",
            "javascript://h",
            "https://h:99999/v1",
            'https://h/v1"',
            "https://h/{v1}",
        ),
    ],
)
def test_a_url_that_two_readers_could_take_for_two_hosts_is_refused(url: str) -> None:
    """The host that is compared must be the host that is asked."""
    with pytest.raises(InputError):
        checked_url(url)
