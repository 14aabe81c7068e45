"""What is answered over HTTP: pages that browsers may keep, and refusals that say what to do."""

import gzip
import http.client
import socket

import pytest

from vivace.viewer.pages import Pages

from .conftest import PATIENCE
from .test_server import get

BODY = b"let x = 1; // " + 2000 * b"again and "


@pytest.fixture
def served(viewer, tmp_path):
    (tmp_path / "index.html").write_bytes(b"<p>hi")
    (tmp_path / "app.js").write_bytes(BODY)
    viewer.server.pages = Pages(tmp_path)
    return viewer


def raw(viewer, text):
    """Bytes to the server, as they are; all that it answers."""
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=PATIENCE) as line:
        line.sendall(text)
        answer = b""
        while part := line.recv(65536):
            answer += part
        return answer


def test_pages_over_http(served):
    status, body, headers = get(served, "/")
    assert (status, body) == (200, b"<p>hi")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert f"connect-src 'self' ws://127.0.0.1:{served.port} wss://127.0.0.1:{served.port}" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert get(served, "/app.js")[2]["Content-Type"].startswith("text/javascript")


def test_pages_are_compressed_for_those_who_can_read_it(served):
    _, body, headers = get(served, "/app.js", **{"Accept-Encoding": "br, gzip;q=0.8"})
    assert headers["Content-Encoding"] == "gzip"
    assert int(headers["Content-Length"]) == len(body) < len(BODY) / 10
    assert gzip.decompress(body) == BODY
    for no in ("identity", "gzip;q=0", "br, gzip; q=0.000", "gzipped"):
        _, body, headers = get(served, "/app.js", **{"Accept-Encoding": no})
        assert headers["Content-Encoding"] is None
        assert body == BODY


def test_a_browser_that_has_the_page_is_told_so(served, tmp_path):
    marks = set()
    for encoding in ("gzip", "identity"):
        _, _, headers = get(served, "/app.js", **{"Accept-Encoding": encoding})
        assert headers["Cache-Control"] == "no-cache"  # it may be kept, and is asked about
        mark = headers["ETag"]
        marks.add(mark)
        for had in (mark, f"W/{mark}", f'"other", {mark}'):
            status, body, headers = get(served, "/app.js", **{"Accept-Encoding": encoding, "If-None-Match": had})
            assert (status, body, headers["ETag"]) == (304, b"", mark)
        assert get(served, "/app.js", **{"Accept-Encoding": encoding, "If-None-Match": '"other"'})[0] == 200
    assert len(marks) == 2
    (tmp_path / "app.js").write_bytes(b"let x = 2;")
    served.server.pages = Pages(tmp_path)
    assert get(served, "/app.js", **{"If-None-Match": ", ".join(marks)})[0] == 200


def test_private_answers_are_not_kept(served):
    served.server._files["film.mp4"] = "video/mp4", b"film"
    for path in (f"/files/film.mp4?token={served.gate.token}", "/nothing", "/check"):
        assert get(served, path)[2]["Cache-Control"] == "no-store"


def test_the_page_can_ask_whether_it_is_let_in(served):
    ours, key = f"http://127.0.0.1:{served.port}", served.gate.token
    assert get(served, f"/check?token={key}&origin={ours}")[0] == 200
    status, said, _ = get(served, f"/check?token=old&origin={ours}")
    assert (status, b"key" in said) == (403, True)
    status, said, _ = get(served, f"/check?token={key}&origin=http://hub.example:8888")
    assert (status, said.endswith(b"--also-known-as hub.example")) == (403, True)


def test_under_a_foreign_name_there_is_a_page_that_says_so(served):
    status, body, headers = get(served, "/", Host="hub.example:8888")
    assert status == 403
    assert headers["Content-Type"].startswith("text/html")
    assert b"--also-known-as hub.example" in body
    assert b"<script" not in get(served, "/", Host='"><script>alert(1)</script>')[1]


@pytest.mark.parametrize(
    "head",
    [
        b"Host: localhost\r\nHost: localhost\r\n",
        b"Host: localhost\r\nHost: evil.example\r\n",
        b"Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n",
    ],
)
def test_headers_that_are_there_twice_are_refused(served, head, caplog):
    answer = raw(served, b"GET / HTTP/1.1\r\n" + head + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"one Host" in answer
    assert not [record for record in caplog.records if record.exc_info]


def test_other_methods_are_refused(served):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"):
        line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        line.request(method, "/", body=b"x" if method in ("POST", "PUT") else None)
        assert line.getresponse().status in (400, 405)
        line.close()
