"""Scenes of rigid bodies: what they are made of, that nothing overlaps at first, and what becomes of them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from vivace import Budget, InputError, make_scene
from vivace.rigid import rotation
from vivace.rigid.detection import BodyDetector
from vivace.scenes import SCENES, RigidScene, is_rigid, load_scene, parameters_of, soft, summary_of
from vivace.simulation.rigid_simulation import SLOP

NAMES = [name for name in SCENES if is_rigid(name)]
SMALL = {
    "box-stack": {"n": 3},
    "house-of-cards": {"storeys": 2},
    "dominoes": {"n": 3},
    "ball-grid": {"size": 2},
    "ball-pile": {"size": 2},
    "pour": {"n": 5},
}
BODIES = {  # free ones: by the parameters above
    "box-stack": 3,
    "house-of-cards": 2 * 3 + 1,
    "ramp": 1,
    "dominoes": 3,
    "mug": 1,
    "ball-grid": 8,
    "ball-pile": 8,
    "pour": 5,
}


def simulate(name, frames, **parameters):
    sim = make_scene(name, **parameters).simulate(threads=1)
    reports = [sim.step() for _ in range(frames)]
    return sim, reports


def touching(sim, reach=1e-3):
    """Contacts of bodies where they are."""
    bodies = sim.bodies
    detector = BodyDetector(bodies.shapes, bodies.movable)
    return detector.find(bodies.positions, rotation.matrices(bodies.orientations), reach)


def test_rigid_scenes_have_their_numbers():
    assert set(BODIES) == set(NAMES)
    assert not is_rigid("tablecloth")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_scene_runs_and_records_what_made_it(name):
    scene = make_scene(name, **SMALL.get(name, {}))
    assert isinstance(scene, RigidScene)
    assert scene.settings["scene"] == name
    assert set(scene.settings["parameters"]) == set(parameters_of(name))
    assert summary_of(name)
    sim = scene.simulate(threads=1, budget=Budget(iterations=5), substeps=2)
    assert sim.bodies.movable.sum() == BODIES[name]
    assert (sim.substeps, sim.budget.iterations, sim.time_step) == (2, 5, scene.time_step)
    assert touching(sim).gaps.min(initial=0.0) > -1e-9  # nothing overlaps at first
    for _ in range(3):
        sim.step()
    assert np.isfinite(sim.positions).all()
    again = make_scene(name, **scene.settings["parameters"]).simulate(
        threads=1, budget=Budget(iterations=5), substeps=2
    )
    for _ in range(3):
        again.step()
    np.testing.assert_array_equal(again.positions, sim.positions)


@pytest.mark.parametrize("storeys", [1, 2, 3, 5])
def test_a_house_has_its_number_of_cards(storeys):
    """Two for each apex, S (S + 1) in all, and S (S - 1) / 2 level ones: 15 for three storeys."""
    scene = make_scene("house-of-cards", storeys=storeys)
    assert len(scene.bodies) - 1 == storeys * (storeys + 1) + storeys * (storeys - 1) // 2


@pytest.mark.slow
def test_cards_begin_in_exact_contact():
    """Every leaning card touches its partner, what it stands on and what lies on it, and nothing else."""
    contacts = touching(make_scene("house-of-cards").simulate(), reach=1e-6)
    pairs = {tuple(pair) for pair in contacts.bodies.tolist()}
    apexes, feet, tops = 6, 12, 3 + 3 + 4  # a level card lies on both cards of an outer apex, and one of an inner one
    assert len(pairs) == apexes + feet + tops
    assert np.abs(contacts.gaps).max() < 1e-9


@pytest.mark.slow
def test_the_house_of_cards_stands():
    """Two seconds; no card goes farther than a fifth of a card's thickness."""
    scene = make_scene("house-of-cards")
    sim = scene.simulate(threads=1)
    before, turned = sim.positions, sim.orientations
    for _ in range(120):
        report = sim.step()
    thickness = scene.settings["parameters"]["thickness"]
    assert np.linalg.norm(sim.positions - before, axis=1).max() < 0.2 * thickness
    assert np.abs(np.einsum("mi,mi->m", sim.orientations, turned)).min() > math.cos(math.radians(1) / 2)
    assert report.kinetic_energy < 1e-5


@pytest.mark.slow
def test_without_friction_the_house_falls():
    sim, _ = simulate("house-of-cards", 60, friction=0.05)
    start = make_scene("house-of-cards").simulate().positions
    assert (start[1:, 1] - sim.positions[1:, 1]).max() > 0.1


@pytest.mark.slow
def test_a_stack_stands():
    """No box sinks farther than the overlaps that are left between all of them, and then nothing moves."""
    sim, reports = simulate("box-stack", 60)
    start = make_scene("box-stack").simulate().positions
    assert np.linalg.norm(sim.positions - start, axis=1).max() < 20 * SLOP
    assert reports[-1].kinetic_energy < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("angle", "friction"), [(20.0, 0.2), (30.0, 0.4), (45.0, 0.0)])
def test_a_box_slides_down_as_coulomb_says(angle, friction):
    """½ g (sin α - μ cos α) t², up to one substep's speed, of an integrator of first order."""
    sim, _ = simulate("ramp", 30, angle=angle, friction=friction)
    tilt = math.radians(angle)
    pull = 9.81 * (math.sin(tilt) - friction * math.cos(tilt))
    start = make_scene("ramp", angle=angle).simulate().positions[2]
    moved = (sim.positions[2] - start) @ [math.cos(tilt), -math.sin(tilt), 0.0]
    assert moved == pytest.approx(0.5 * pull * sim.time**2, abs=pull * sim.time * sim.time_step / sim.substeps)


@pytest.mark.slow
def test_a_box_stays_where_friction_suffices():
    sim, _ = simulate("ramp", 60, angle=20.0, friction=0.5)
    start = make_scene("ramp", angle=20.0).simulate().positions[2]
    assert np.linalg.norm(sim.positions[2] - start) < 1e-4


@pytest.mark.slow
def test_dominoes_fall_one_after_the_other():
    sim = make_scene("dominoes", n=6).simulate(threads=1)
    fallen = np.full(6, -1)
    for frame in range(180):
        sim.step()
        if fallen.min() >= 0:
            break
        up = rotation.matrices(sim.orientations[1:])[:, 1, 1]
        fallen[(up < math.cos(math.radians(30))) & (fallen < 0)] = frame
    assert (np.diff(fallen) > 0).all()
    assert fallen[0] >= 0


@pytest.mark.slow
def test_a_gentle_pull_takes_the_mug_along_and_a_sudden_one_leaves_it():
    gentle, _ = simulate("mug", 90, pull=1.5)
    sudden, _ = simulate("mug", 90, pull=60.0)
    assert gentle.positions[2, 0] == pytest.approx(0.45, abs=0.01)
    assert gentle.positions[3, 0] == pytest.approx(gentle.positions[2, 0], abs=0.01)
    assert sudden.positions[3, 0] < 0.1
    assert gentle.positions[3, 1] - sudden.positions[3, 1] == pytest.approx(0.008, abs=1e-3)  # the plate's thickness
    for sim in (gentle, sudden):
        assert rotation.matrices(sim.orientations[3:])[0, 1, 1] > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["grid", "cannonball"])
def test_balls_touch_as_in_the_thesis(layout):
    from vivace.rigid.balls import ball_grid

    _, (report,) = simulate("ball-grid", 1, size=4, layout=layout)
    problem = ball_grid(4, layout)
    assert len(report.contacts) == problem.contacts
    assert len(make_scene("ball-grid", size=4, layout=layout).bodies) == problem.bodies


@pytest.mark.slow
def test_balls_stay_in_their_box():
    sim, reports = simulate("ball-pile", 120, size=3)
    reach = 0.5 * 2.5 * 0.05 * 3
    assert np.abs(sim.positions[5:, [0, 2]]).max() < reach
    assert sim.positions[5:, 1].min() > 0.03
    assert reports[-1].kinetic_energy < 0.1 * max(report.kinetic_energy for report in reports)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ball-pile", "pour"])
def test_what_is_random_has_its_seed(name):
    a, b, c = (make_scene(name, seed=seed).simulate().positions for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


def test_the_seed_goes_to_the_colouring():
    scene = make_scene("box-stack", n=2)
    assert scene.simulate(seed=7).solver.seed == 7
    assert scene.simulate(solver="coloured:seed=3", seed=7).solver.seed == 3
    assert scene.simulate(solver="jacobi", seed=7).solver.name == "jacobi"


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("box-stack", {"n": 0}, "n must be 1 or more, not 0"),
        ("box-stack", {"n": 2.5}, "n must be a whole number, not 2.5"),
        (
            "box-stack",
            {"n": 10**12},
            "a stack would have about 10\\^\\d+ bodies; there is room for|bodies; there is room",
        ),
        ("box-stack", {"m": 3}, "scene 'box-stack' has no parameter 'm'; its parameters: n, side"),
        ("box-stack", {"density": -1.0}, "density of a body"),
        ("house-of-cards", {"angle": 50}, "angle must lie between 0 and 45 degrees, not 50"),
        ("house-of-cards", {"thickness": 0.05}, "thickness must be less than a quarter"),
        ("house-of-cards", {"friction": -0.1}, "friction of a body"),
        ("ramp", {"length": 0.3}, "length must be more than twice the side of the box, 0.4 m, not 0.3"),
        ("dominoes", {"spacing": 0.5}, "a domino reaches the next"),
        ("dominoes", {"push": "hard"}, "push must be a number in rad/s"),
        ("mug", {"pull": 0}, "pull must be a positive number, not 0"),
        ("ball-grid", {"layout": "heap"}, "unknown layout 'heap'; there are grid, cannonball"),
        ("ball-grid", {"size": 10**6}, "there is room"),
        ("ball-pile", {"seed": -1}, "seed"),
    ],
)
def test_bad_parameters_say_what_is_wrong(name, parameters, message):
    with pytest.raises(InputError, match=message):
        make_scene(name, **parameters)


def test_bad_scenes_are_refused():
    scene = make_scene("ramp")
    with pytest.raises(InputError, match="made of one Body or more"):
        replace(scene, bodies=[])
    with pytest.raises(InputError, match="made of one Body or more"):
        replace(scene, bodies=[1])
    with pytest.raises(InputError, match="time step"):
        replace(scene, time_step=0)
    with pytest.raises(InputError, match="gravity"):
        replace(scene, gravity=(0, 1))
    with pytest.raises(InputError, match="the scene 'ramp' is made of rigid bodies, and this works on soft ones"):
        soft(scene)


def test_a_scene_file_may_name_a_rigid_scene(tmp_path):
    path = tmp_path / "stack.toml"
    path.write_text(
        'scene = "box-stack"\n[parameters]\nn = 2\n[world]\ngravity = [0, -1.6, 0]\nsubsteps = 2\n'
        '[solver]\nname = "coloured"\nomega = 0.9\n[budget]\niterations = 7\n'
    )
    scene = load_scene(path)
    sim = scene.simulate(threads=1)
    assert len(sim.bodies) == 3
    assert (sim.solver.name, sim.solver.omega, sim.budget.iterations, sim.substeps) == ("coloured", 0.9, 7, 2)
    np.testing.assert_array_equal(sim.gravity, [0, -1.6, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[collisions]\nitself = false\n", "collisions"),
        ("[world]\nwind = [0, 0, 1]\n", "wind"),
        ('[solver]\nname = "vivace"\n', "unknown contact solver 'vivace'"),
        ("[budget]\nseconds = 3\n", "seconds"),
    ],
)
def test_scene_files_with_what_rigid_bodies_do_not_have_are_refused(tmp_path, text, message):
    path = tmp_path / "stack.toml"
    path.write_text(f'scene = "box-stack"\n{text}')
    with pytest.raises(InputError, match=message):
        load_scene(path)
