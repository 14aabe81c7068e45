"""Sessions and viewers for tests: small scenes, one thread, a server on loopback.

Tests wait for what happens and not for time to pass; PATIENCE only ends a test that would wait for ever, and is long
enough for a machine that is busy with something else. Steps have a number of sweeps instead of milliseconds, so that
such a machine computes the same.
"""

import os
import time
from contextlib import contextmanager

import pytest

from vivace.solvers import Budget
from vivace.viewer import Target, Viewer
from vivace.viewer import messages as m
from vivace.viewer.server import Server
from vivace.viewer.session import Session

PATIENCE = float(os.environ.get("VIVACE_TEST_PATIENCE", 600.0))  # s
SWEEPS = Budget(iterations=20)
SMALL = Target("tablecloth", {"resolution": 12, "table": False})
DRAWN = 40  # vertices along a side of the cloth that browsers show


def until(test, what="it"):
    """Wait for something that another thread does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = test()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what} did not happen within {PATIENCE} s")


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
        until(lambda: done, "a command")

    def rounds(self, count=5):
        """Let the thread go round that often: it would make a step each time, unless it rests."""
        for _ in range(count):
            self.settle()

    def frames(self, count=3):
        """Let it make some more frames."""
        first = self.session.newest.number if self.session.newest else 0
        return until(lambda: (new := self.session.newest) and new.number >= first + count and new, "a frame")

    def until_scene(self, name):
        """Until there is a frame of another scene."""
        return until(lambda: (new := self.session.newest) and new.backdrop.scene.name == name and new, name)

    def notices(self):
        return [message.text for message, _ in self.said if isinstance(message, m.Notice)]

    def order(self):
        self._order += 1
        return self._order


@contextmanager
def running(target=SMALL, **options):
    session = Session(target, threads=1, **options)
    if "sim" not in options:
        session.sims[0].budget = SWEEPS
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
    viewer = Viewer(SMALL, port=0, threads=1)
    viewer.session.sims[0].budget = SWEEPS
    with viewer:
        yield viewer


@pytest.fixture(scope="module")  # not longer: while it is there, its thread has an event loop, and may have no other
def chromium():
    from .browser import open_browser

    running, browser = open_browser()
    yield browser
    browser.close()
    running.stop()


@pytest.fixture(scope="module")
def cloth():
    """A tablecloth on a table."""
    with Viewer(Target("tablecloth", {"resolution": DRAWN}), port=0, threads=1) as viewer:
        yield viewer
