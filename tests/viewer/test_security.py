"""Who may talk to the server."""

import pytest

from vivace.viewer import security
from vivace.viewer.security import Allowance, Gate, is_everywhere, is_loopback

OURS = "localhost:8008"


@pytest.fixture
def gate():
    return Gate()


def test_the_page_itself_is_let_in(gate):
    target = f"/socket?token={gate.token}"
    for host in (OURS, "127.0.0.1:8008", "[::1]:8008", "LOCALHOST:9999", "localhost"):
        assert gate.why_not(target, host, f"http://{host}", key=True) == ""
    assert gate.why_not(target, OURS, None, key=True) == ""  # no browser: a script that has the key


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost:8008.evil.example",
        "http://localhost:8009",
        "http://127.0.0.1:8008",
        "null",
        "",
        "file://",
        "http://[",
        "javascript:alert(1)",
    ],
)
def test_other_origins_are_refused(gate, origin):
    assert gate.why_not(f"/socket?token={gate.token}", OURS, origin, key=True)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8008", "", None, "[", "127.0.0.1.evil.example"])
def test_names_that_are_not_ours_are_refused(gate, host):
    """A site whose name points at loopback has an origin that is equal to its host."""
    assert gate.why_not(f"/socket?token={gate.token}", host, f"http://{host}", key=True)
    assert gate.why_not("/", host, None, key=False)


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=wrong", "?token=%00", "?other=1", "?token=a&token=b", "?token=ü"]
)
def test_wrong_tokens_are_refused(gate, query):
    assert gate.why_not(f"/socket{query}", OURS, f"http://{OURS}", key=True)


def test_tokens_are_long_and_never_the_same():
    assert len({Gate().token for _ in range(20)}) == 20
    assert len(Gate().token) >= 32


def test_other_names_can_be_allowed():
    gate = Gate(["cloth.example"])
    assert gate.why_not("/", "cloth.example:80", "http://cloth.example:80", key=False) == ""
    assert gate.why_not("/", "evil.example", None, key=False)
    assert Gate(["*"]).why_not("/", "anything", None, key=False) == ""


def test_a_proxy_that_changes_the_name_is_let_in_if_it_was_named():
    """The page has the proxy's origin, and the request our own host."""
    for named, origin, allowed in [
        ("hub.example", "https://hub.example", True),
        ("hub.example", "https://hub.example:8888", True),
        ("HUB.example:8888", "http://hub.example:8888", True),
        ("hub.example:8888", "http://hub.example:9999", False),
        ("hub.example", "https://evil.example", False),
        ("hub.example", "ftp://hub.example", False),
        ("hub.example", "https://hub.example.evil.example", False),
        ("hub.example", "https://[", False),
    ]:
        gate = Gate(proxies=[named])
        assert (gate.why_not(f"/socket?token={gate.token}", OURS, origin, key=True) == "") == allowed, (named, origin)
        assert gate.why_not("/", "hub.example:8888", None, key=False) == ""
        assert gate.why_not("/socket", OURS, "https://hub.example:8888", key=True)  # without the key


@pytest.mark.parametrize(
    ("host", "said"),
    [("hub.example", "hub.example"), ("<script>alert(1)</script>", "NAME"), ("a b", "NAME"), ("x" * 300, "NAME")],
)
def test_a_refusal_says_which_option_helps(gate, host, said):
    assert gate.why_not("/", host, None, key=False).endswith(f"--also-known-as {said}")
    assert gate.why_not("/", OURS, f"http://{host}", key=False).endswith(f"--also-known-as {said}")


def test_loopback_and_everywhere():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.3.2.1", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.0.2.1", "example.org")))
    assert all(map(is_everywhere, ("0.0.0.0", "::", "")))
    assert not any(map(is_everywhere, ("127.0.0.1", "localhost")))


def test_a_burst_is_allowed_and_then_a_rate(monkeypatch):
    now = 100.0
    monkeypatch.setattr(security.time, "monotonic", lambda: now)
    allowance = Allowance()
    assert sum(allowance.take() for _ in range(5000)) == security.BURST
    now += 1.0
    assert sum(allowance.take() for _ in range(5000)) == security.RATE
