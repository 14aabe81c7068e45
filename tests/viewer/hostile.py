"""Three hundred things that nobody should say to a server: messages and requests, the same ones on every run."""

import json
import random
from dataclasses import fields

from vivace.errors import InputError
from vivace.viewer.messages import decode, plain

from .test_messages import GOOD

SEED = 15
VALUES = (
    None,
    True,
    -1,
    2**31,
    2**53,
    -(2**63),
    1e300,
    -1e300,
    "",
    "x" * 3000,
    "../../../../etc/passwd",
    "\x00",
    "\ud800",
    "💥" * 300,
    [],
    [[]],
    [1e300] * 3,
    [None] * 3,
    [0] * 1000,
    {},
    {"type": "grab"},
    {"__class__": "object"},
    "__import__('os').system('true')",
    "<script>alert(1)</script>",
)
BROKEN = (
    *("", " ", "{", "}", "[]", "null", "true", "17", '"grab"', "nonsense", "{}", '{"type": null}', '{"type": []}'),
    *('{"type": "grab"', '{"type": "grab",}', "{'type': 'run'}", '{"type": "run", "what": "reset"}}', "\ufeff{}"),
    *('{"type": "__class__"}', '{"type": "hello"}', '{"type": "frame"}', '{"type": "drawn", "frame": NaN}'),
    *('{"type": "drawn", "frame": Infinity}', '{"type": "drawn", "frame": 1e999}', '{"type": "drawn", "frame": -0.5}'),
    *('{"type": "drawn", "frame": ' + "9" * 400 + "}", '{"type": "drawn", "frame": 0x10}', "[" * 2000, '{"a":' * 500),
    *('{"type": "change", "' + "k" * 3000 + '": 1}', '{"type": "change", "gravity": "9.81"}', "\x00" * 64),
)
NAMES = (
    "../../etc/passwd",
    "/etc/passwd",
    "tablecloth\x00.toml",
    "file:///etc/passwd",
    "C:\\boot.ini",
    "no such thing",
)
PATHS = (
    *("/..", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%252e%252e/secret", "/..%5c..%5cwindows", "//evil/x"),
    *(
        "/files/",
        "/files/../server.py",
        "/files/%2e%2e/%2e%2e/keys.py",
        "/files/x?token=",
        "/socket",
        "/socket?token=x",
    ),
    *("/check", "/check?token=%00", "/check?token=" + "a" * 3000, "/page/../keys.py", "/index.html/", "/app.js%00.png"),
    *(
        "/%",
        "/%zz",
        "/%ff%fe",
        "/nothing?" + "a=1&" * 900,
        "/" + "a" * 3000,
        "/;ls",
        "/$(id)",
        "/\\\\host\\share",
        "/.git/config",
    ),
    *(
        "/socket/../files",
        "/SOCKET",
        "/socket%20?token=x",
        "http://evil.example/",
        "http://[::1",
        "//[",
        "*",
        "/favicon.ico",
    ),
)
HEADS = (
    b"Host: localhost\r\nHost: localhost\r\n",
    b"Host: localhost\r\nHost: evil.example\r\n",
    b"Host: evil.example\r\n",
    b"Host: [\r\n",
    b"Host: \r\n",
    b"Host: localhost:99999999\r\nOrigin: null\r\n",
    b"",
    b"Host: localhost\r\nOrigin: http://a\r\nOrigin: http://b\r\n",
    b"Host: localhost\r\nOrigin: http://evil.example\r\n",
    b"Host: localhost\r\n" + b"".join(b"X-%d: 1\r\n" % k for k in range(200)),
    b"Host: localhost\r\nX: " + b"y" * 20_000 + b"\r\n",
    b"Host: localhost\r\nno colon here\r\n",
    b"Host: localhost\r\n folded: 1\r\n",
    b"Host: localhost\r\nX\x00: 1\r\n",
    b"Host: localhost\r\nX: \x01\x02\r\n",
    b"Host: localhost\r\nTransfer-Encoding: chunked\r\n",
    b"Host: localhost\r\nContent-Length: 10\r\n",
    b"Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
    b"Host: <script>alert(1)</script>\r\n",
)
LINES = (
    *(
        b"POST / HTTP/1.1",
        b"PUT /files/x HTTP/1.1",
        b"DELETE / HTTP/1.1",
        b"TRACE / HTTP/1.1",
        b"CONNECT evil:80 HTTP/1.1",
    ),
    *(b"GET / HTTP/2.0", b"GET / HTTP/9.9", b"GET /", b"GET", b"", b"get / HTTP/1.1", b"GET  / HTTP/1.1"),
    *(
        b"PRI * HTTP/2.0",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 40,
        b"GET / HTTP/1.1 extra",
        b"G\x00T / HTTP/1.1",
    ),
    *(b"GET /" + b"a" * 20_000 + b" HTTP/1.1", b"SSH-2.0-OpenSSH_9.6", b"EHLO evil.example", b"\xff\xfe\xfd"),
)


def messages(count):
    """So many messages, text and bytes, none of which makes sense to the server."""
    chance = random.Random(SEED)
    found = []
    for good in GOOD:
        said = plain(good)
        for item in fields(good):
            for value in VALUES:
                found.append(json.dumps({**said, item.name: value}))
        found.append(json.dumps({**said, "more": 1}))
        whole = json.dumps(said)
        found.append(whole[: len(whole) // 2])
        found.append(whole.encode())  # bytes instead of text
    wrong = [text for text in found if not _makes_sense(text)]
    junk = [bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400))) for _ in range(20)]
    names = [json.dumps({"type": "load_scene", "name": name}) for name in NAMES]
    names += [json.dumps({"type": "change", "solver": name}) for name in NAMES]
    given = [*BROKEN, *junk, *names]
    return [*given, *chance.sample(wrong, count - len(given))]


def requests():
    """Requests as bytes: of none of them should anything be told but why not."""
    socket = b"Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    return [
        *(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode() for path in PATHS),
        *(b"GET /socket HTTP/1.1\r\n%s\r\n" % head for head in HEADS),
        *(b"%s\r\nHost: localhost\r\n\r\n" % line for line in LINES),
        *(
            b"GET /socket%s HTTP/1.1\r\n%sSec-WebSocket-Key: %s\r\n\r\n" % (query, socket, key)
            for query in (b"", b"?token=", b"?token=wrong", b"?token=%00", b"?Token=x")
            for key in (b"AAAAAAAAAAAAAAAAAAAAAA==", b"short", b"\x01")
        ),
    ]


def _makes_sense(text):
    try:
        decode(text)
    except InputError:
        return False
    return True
