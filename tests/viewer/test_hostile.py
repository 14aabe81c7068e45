"""Clients that misbehave, beside one that does not; they are those of the benchmark's siege."""

import asyncio
import gc
import importlib.util
import json
import re
import socket
from pathlib import Path

import pytest

from vivace.solvers import Budget
from vivace.viewer import Target, Viewer
from vivace.viewer.server import MOST_FAULTS, Server

from .hostile import messages, requests
from .test_server import address, connect, frames

SIEGE = Path(__file__).parents[2] / "benchmarks" / "viewer.py"
PATIENCE = 600.0  # s, for 400 frames of 10,000 vertices on a machine that is busy with something else


@pytest.fixture
def siege(monkeypatch):
    monkeypatch.setattr(Server, "has_page", True)
    spec = importlib.util.spec_from_file_location("viewer_benchmark", SIEGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_server_stands_a_siege(siege):
    """200 bad messages, clients that die in a frame, one that never reads and claims to have drawn everything: the good
    client gets its frames all the same, and nothing is kept for the one that does not read."""

    async def besiege(viewer):
        address = f"ws://127.0.0.1:{viewer.port}/socket?token={viewer.gate.token}"
        good = {"frames": 0}
        looking = asyncio.create_task(siege._look(address, good))

        async def frames(count):
            first = good["frames"]
            while good["frames"] < first + count:
                assert not looking.done(), "the good client was cut off"
                await asyncio.sleep(0.01)

        await frames(10)
        await asyncio.gather(*(siege._send_rubbish(address, seed) for seed in range(4)))
        await siege._die_in_a_frame(viewer)
        await frames(30)
        deaf = siege._deaf_client(viewer)
        await frames(50)
        assert len(viewer.server.clients) == 2  # it is there, and it is not heard of
        before = siege._memory_mb()
        await frames(300)
        growth = siege._memory_mb() - before
        deaf.close()
        looking.cancel()
        assert viewer.session._thread.is_alive()
        return growth

    # A simulation is as fast as its time, so that one of small steps has more frames a second.
    viewer = Viewer(Target("tablecloth", {"resolution": 100, "time_step": 1 / 200}), port=0, threads=1)
    viewer.session.sims[0].budget = Budget(iterations=1)
    with viewer:
        growth = asyncio.run(asyncio.wait_for(besiege(viewer), PATIENCE))
    assert growth < 10  # MB: 300 frames of 61 KB, kept for it, would be 18


SENTENCE = re.compile(r"\w.*\s.*\w", re.DOTALL)  # words, and not a traceback


def is_sentence(text):
    return bool(SENTENCE.search(text)) and "Traceback" not in text and 'File "' not in text


async def refused(viewer, said):
    """Each message is answered with a sentence; a socket takes so many before it is closed."""
    for first in range(0, len(said), MOST_FAULTS - 10):
        async with connect(address(viewer), max_size=None) as line:
            for one in said[first : first + MOST_FAULTS - 10]:
                await line.send(one)
                while True:
                    answer = await line.recv()
                    told = json.loads(answer) if isinstance(answer, str) else {}
                    if told.get("type") == "notice":
                        break
                assert told["level"] == "error", one
                assert is_sentence(told["text"]), (one, told)
                assert len(told["text"]) <= 600


def answered(viewer, request):
    """What the server says to a request, if it says anything before it closes the connection."""
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=PATIENCE) as line:
        line.sendall(request)
        said = b""
        try:
            while part := line.recv(65536):
                said += part
        except ConnectionResetError:  # it did not read all that there was, and need not
            pass
        return said


@pytest.mark.slow
def test_three_hundred_hostile_messages_and_requests(viewer, siege, caplog):
    """Each is refused with a sentence, the server stays up, and nothing of them is kept."""
    said, asked = messages(220), requests()
    assert len(said) + len(asked) >= 300

    def attack():
        asyncio.run(asyncio.wait_for(refused(viewer, said), PATIENCE))
        for request in asked:
            answer = answered(viewer, request)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert re.match(rb"HTTP/1.1 4\d\d ", head), (request[:80], answer[:200])
            assert is_sentence(body.decode()), (request[:80], answer[:300])
        gc.collect()
        return siege._memory_mb()

    async def look():
        async with connect(address(viewer), max_size=None) as line:
            return await frames(line, 5)

    attack()
    before = attack()
    assert attack() - before < 5  # MB
    assert len(asyncio.run(look())[0]) == 5
    assert viewer.session._thread.is_alive()
    assert [record for record in caplog.records if record.exc_info and record.name.startswith("vivace")] == []
