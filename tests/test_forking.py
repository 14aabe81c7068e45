"""Processes forked from one that has loaded a module: that they begin, and that all of them end."""

import os
import signal
import time

import pytest

from vivace.forking import ForkServer, begun_early

MODULE = """
import os
loaded_by = os.getpid()


def work(connection):
    connection.send((os.getpid(), os.getppid(), loaded_by))
    while True:
        said = connection.recv()
        if said == "fail":
            raise ValueError("as it was told")
        connection.send(said)
"""
LONG_S = 600


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "forked_work.py").write_text(MODULE)
    (tmp_path / "broken_work.py").write_text("raise RuntimeError('it cannot be loaded')")
    monkeypatch.syspath_prepend(tmp_path)
    return "forked_work"


def said(connection):
    assert connection.poll(LONG_S), "it says nothing"
    return connection.recv()


def assert_ended(connection):
    with pytest.raises((EOFError, ConnectionResetError)):
        said(connection)


def assert_gone(pid):
    """Reaped, so that its number is free."""
    for _ in range(int(LONG_S / 0.02)):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError(f"{pid} is still there")


def test_forked_processes_have_what_the_server_has_loaded(module):
    """The module is loaded once, by the server, which is the parent of all."""
    with ForkServer(module) as server:
        connections = [server.fork() for _ in range(3)]
        told = [said(connection) for connection in connections]
        assert len({pid for pid, _, _ in told}) == 3
        assert {(parent, loader) for _, parent, loader in told} == {(server.pid, server.pid)}
        connections[1].send("hello")
        assert said(connections[1]) == "hello"


def test_the_end_of_a_process_is_the_end_of_its_connection(module):
    """Killed, failed or closed: seen at once, reaped, and the others go on."""
    with ForkServer(module) as server:
        killed, failed, closed, last = (server.fork() for _ in range(4))
        pids = [said(connection)[0] for connection in (killed, failed, closed, last)]
        os.kill(pids[0], signal.SIGKILL)
        assert_ended(killed)
        failed.send("fail")
        assert_ended(failed)
        assert server.last_words() == "ValueError: as it was told"
        closed.close()
        for pid in pids[:3]:
            assert_gone(pid)
        last.send(1)
        assert said(last) == 1
        assert server.ended() is None
        assert server.ended(0.01) is None


def test_a_module_that_cannot_be_loaded_is_told(module):
    with ForkServer("broken_work") as server:
        assert_ended(server.fork())
        assert "it cannot be loaded" in server.last_words()
        assert_ended(server.fork())  # of a server that has gone


def test_a_server_that_was_begun_early_is_taken_once_or_ended(module):
    with begun_early(module):
        early = ForkServer.of(module)
        assert early.ended() is None
        with ForkServer.of(module) as another:
            assert another.pid != early.pid
    assert early.ended() is None  # it belongs to whoever took it
    early.close()
    assert early.ended() is not None
    with begun_early(module):
        pass
    with ForkServer.of(module) as server:
        assert said(server.fork())[1] == server.pid
