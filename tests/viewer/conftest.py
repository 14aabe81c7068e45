"""Sessions and viewers for tests: small scenes, one thread, a server on loopback."""

import time
from contextlib import contextmanager

import pytest

from vivace.viewer import Target, Viewer
from vivace.viewer import messages as m
from vivace.viewer.server import Server
from vivace.viewer.session import Session

SMALL = Target("tablecloth", {"resolution": 12, "table": False})


def until(test, seconds=20.0, what="it"):
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = test()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what} did not happen within {seconds} s")


class Told:
    """A session that runs without a server; keeps what it says."""

    def __init__(self, session: Session):
        self.session, self.said, self._order = session, [], 0
        session.send = lambda message, client: self.said.append((message, client))
        session.watchers = 1

    def tell(self, message, client="1"):
        self.session.tell(client, message)

    def change(self, **settings):
        """Change settings, and wait until that was done."""
        self.tell(m.Change(**settings))
        self.settle()

    def settle(self):
        """Until everything said so far was done."""
        done = []
        self.session.call(lambda: done.append(True))
        until(lambda: done, what="a command")

    def frames(self, count=3):
        """Let it make some more frames."""
        first = self.session.newest.number if self.session.newest else 0
        return until(lambda: (new := self.session.newest) and new.number >= first + count and new, what="a frame")

    def notices(self):
        return [message.text for message, _ in self.said if isinstance(message, m.Notice)]

    def order(self):
        self._order += 1
        return self._order


@contextmanager
def running(target=SMALL, **options):
    session = Session(target, threads=1, **options)
    told = Told(session)
    session.start()
    try:
        yield told
    finally:
        session.stop()


@pytest.fixture
def told():
    with running() as told:
        yield told


@pytest.fixture
def viewer(monkeypatch):
    monkeypatch.setattr(Server, "has_page", True)
    with Viewer(SMALL, port=0, threads=1) as viewer:
        yield viewer
