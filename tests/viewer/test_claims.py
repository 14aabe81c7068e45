"""What the patent's system claims, where no other test holds it; and whether the table of claims names real tests."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vivace as vv
from meeting import Meetings
from vivace.backends.cpu.executor import SMALLEST_CHUNK
from vivace.scenes import make_scene
from vivace.solvers.projective import sweeping
from vivace.viewer import messages as m

from .conftest import until
from .test_server import frames, in_client

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "viewer.md"
PAPER = "vivace:colouring_algorithm=brooks-vizing"


@pytest.mark.slow
def test_partitions_are_solved_by_several_threads_at_the_same_time(monkeypatch):
    """Claims 1 and 15: of every partition but the smallest, which are not worth a second thread's coming, two threads
    are inside the sweep at once. Nobody meets where one thread sweeps, and the result is the same."""
    meetings = Meetings(monkeypatch, sweeping)
    scene = make_scene("tablecloth", resolution=60)
    sim = scene.simulate(solver=PAPER, budget=vv.Budget(iterations=4), threads=2)
    sim.step()
    sizes = np.bincount(sim.colouring.colours)
    worth = sizes >= 2 * SMALLEST_CHUNK
    assert sizes[worth].sum() > 0.9 * scene.model.n
    assert meetings.shared.count("sweeps") == worth.sum() > 4
    meetings.found.clear()
    one = scene.simulate(solver=PAPER, budget=vv.Budget(iterations=4), threads=1)
    one.step()
    assert meetings.shared == []
    np.testing.assert_array_equal(sim.positions, one.positions)


@pytest.mark.parametrize("omega", [1.75, 1.85, 1.95])
@pytest.mark.parametrize("sweeps", [3, 8, 30])
def test_the_range_of_relaxation_is_stable(omega, sweeps):
    """Claim 7: a cloth that swings for three seconds keeps its size, however few sweeps a frame has."""
    sim = make_scene("tablecloth", resolution=16).simulate(
        solver=f"vivace:omega={omega}", budget=vv.Budget(iterations=sweeps), threads=1
    )
    for _ in range(90):
        assert sim.step().finite
    assert np.abs(sim.positions).max() < 4.0  # of 1 m at rest
    assert np.abs(sim.velocities).max() < 20.0


ANIMATION = f"""
import hashlib, json
import vivace as vv
from vivace.scenes import make_scene

sim = make_scene("tablecloth", resolution=16).simulate(solver="{PAPER}", budget=vv.Budget(iterations=8), threads=2)
for frame in range(4):
    sim.grab(40, (0.1, 0.05 * frame, 0.2))
    report = sim.step()
digest = hashlib.sha256(sim.positions.tobytes()).hexdigest()
print(json.dumps([vv.__file__, sim.colouring.algorithm, report.colours, digest]))
"""


@pytest.mark.slow
def test_the_files_of_the_package_are_all_that_the_method_needs(tmp_path):
    """Claim 14: copied to another folder, they animate there what they animate here, to the bit."""
    medium = tmp_path / "medium" / "vivace"
    shutil.copytree(Path(vv.__file__).parent, medium)
    environment = {**os.environ, "PYTHONPATH": str(medium.parent)}
    done = subprocess.run(
        [sys.executable, "-c", ANIMATION], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    file, algorithm, colours, digest = json.loads(done.stdout.splitlines()[-1])
    assert Path(file).is_relative_to(medium)
    assert algorithm == "brooks-vizing"
    here: dict = {}
    exec(ANIMATION, here)
    assert (here["report"].colours, here["digest"]) == (colours, digest)


def shown(frame):
    """Positions (n, 3) as the page draws them."""
    view, values = frame["views"][0], frame["unpacked"]["positions0"].astype(np.float64)
    return np.array(view["low"]) + np.array(view["scale"]) * values.reshape(-1, 3)


@pytest.mark.slow
def test_what_a_pointer_sends_is_what_the_display_gets(viewer):
    """Claim 15: grab, drag and let go go in at the socket, and the frames that come out of it show the vertex where the
    pointer is, its neighbours behind it, and nothing of the kind before and after."""
    vertex, neighbour = 70, 71

    async def until_shown(socket, wanted, what):
        for _ in range(300):
            (frame,), _ = await frames(socket, 1)
            if wanted(frame):
                return frame
        raise AssertionError(f"{what} is not shown in 300 frames")

    async def work(socket):
        (frame,), others = await frames(socket, 1)
        scene = next(message["scene"] for message in others if message["type"] == "scene")
        assert frame["views"][0]["held"] == []
        place = shown(frame)[vertex]
        way = []
        for order, step in enumerate([(0.0, 0.1, -0.1), (-0.15, 0.1, -0.1), (-0.15, 0.1, -0.25)], 1):
            target = place + np.array(step)
            message = {"type": "drag", "pointer": 0, "target": target.tolist(), "order": order}
            if order == 1:
                message |= {"type": "grab", "vertex": vertex, "scene": scene}
            await socket.send(json.dumps(message))
            near = lambda frame, at=target: np.linalg.norm(shown(frame)[vertex] - at) < 0.04  # noqa: E731
            frame = await until_shown(socket, near, f"vertex {vertex} at pull {order}")
            assert frame["views"][0]["held"] == [vertex]
            assert max(frame["orders"].values()) == order
            frame = (await frames(socket, 5))[0][-1]
            assert near(frame)
            way.append(shown(frame)[neighbour])
        await socket.send(json.dumps({"type": "release", "pointer": 0, "order": 4}))
        frame = await until_shown(socket, lambda frame: not frame["views"][0]["held"], "that nobody holds it")
        await until_shown(socket, lambda frame: not near(frame), "that it leaves")
        return np.diff(way, axis=0)

    moved = in_client(viewer, work)
    assert moved[0][0] < -0.05  # the neighbour went along x when the pointer did, and along z when it did
    assert moved[1][2] < -0.05


@pytest.mark.slow
def test_the_units_work_in_order_when_somebody_pulls(told):
    """Claim 15: the graph is coloured, the partitions solved, the model updated, with what the input port received."""
    told.tell(m.Change(solver="vivace"))
    until(lambda: told.session.settings.solver == "vivace")
    snapshot = told.frames(3)
    target = (told.session.newest.views[0].report.positions[70] + [0.0, 0.1, -0.1]).tolist()
    told.tell(m.Grab(0, 70, target, snapshot.backdrop.number, 1))
    until(lambda: np.linalg.norm(told.session.newest.views[0].report.positions[70] - target) < 0.04, "the pull")
    snapshot = told.session.newest
    (view,) = snapshot.views
    assert list(view.report.stages) == ["predict", "collide", "colour", "solve", "guard", "update"]
    sim = told.session.sims[0]
    assert 70 in sim.model.pinned  # modelling: the constraint graph has the pull in it
    indptr, indices = sim.system.graph
    rows = np.repeat(np.arange(sim.model.n), np.diff(indptr))
    assert (view.labels[rows] != view.labels[indices]).all()  # colouring: partitions of independent unknowns
    assert view.report.sweeps > 0
    np.testing.assert_allclose(view.report.positions[70], target, atol=0.05)  # solved and updated


def test_every_claim_is_in_the_table():
    rows = [line.split("|")[1] for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    claims = {int(number) for row in rows for number in re.findall(r"\b\d+\b", row)}
    assert claims >= set(range(1, 24))


def test_the_table_names_tests_that_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TABLE.read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
