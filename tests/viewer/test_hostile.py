"""Clients that misbehave, beside one that does not; they are those of the benchmark's siege."""

import asyncio
import importlib.util
from pathlib import Path

import pytest

from vivace.solvers import Budget
from vivace.viewer import Target, Viewer
from vivace.viewer.server import Server

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
