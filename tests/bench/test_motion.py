"""Measuring motion: distances, energies and momenta of motions known in closed form; converged trajectories on disk."""

from dataclasses import replace

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Jelly, Model, Wire, mesh
from vivace.bench import converged as module
from vivace.bench.compare import compare, references_for
from vivace.bench.converged import References, cache_folder, converged, digest, fine_steps
from vivace.bench.motion import (
    Trajectory,
    angular_momenta,
    distance,
    energies,
    frames_at,
    heights,
    lowest,
    stretch,
)
from vivace.bench.run import run
from vivace.collisions import Plane
from vivace.mesh import Mesh
from vivace.scenes import Scene, make_scene
from vivace.solvers.reference import rms

U = 2.0**-24
FEW = Budget(iterations=3)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A cache of its own, in which everything is kept however little time it took."""
    monkeypatch.setenv("VIVACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "WORTH_S", -1.0)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def cloth():
    return make_scene("tablecloth", resolution=6)


def pair(k=10.0, **world) -> Model:
    """Two vertices 0.5 m apart on a spring."""
    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [[0, 1]])
    return Model.of(wire, Wire(density=0.4, stretch=k), **world)


def made_of(positions, velocities, h=0.1):
    return Trajectory(np.asarray(positions, np.float32), np.asarray(velocities, np.float32), h)


# --- measures -----------------------------------------------------------------------------------------------------


def test_stretch_of_a_spring_drawn_out_and_one_pressed_together():
    """|l/l₀ - 1| of 0.2 and 0.1: signs do not cancel."""
    wire = Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]], [[0, 1], [1, 2]])
    found = stretch(Model.of(wire, Wire()), np.array([[0.0, 0, 0], [1.2, 0, 0], [2.1, 0, 0]]))
    np.testing.assert_allclose(found, [0.15, np.sqrt((0.04 + 0.01) / 2), 0.2], rtol=1e-12)
    assert stretch(make_scene("bar", resolution=2).model, np.zeros((12, 3))) is None


def test_distance_is_the_root_of_the_mean_square():
    still = made_of(np.zeros((3, 2, 3)), np.zeros((3, 2, 3)))
    moved = np.zeros((4, 2, 3))
    moved[1, 0] = 3.0, 4.0, 0.0
    moved[2] = np.nan
    other = made_of(moved, np.zeros((4, 2, 3)))
    np.testing.assert_allclose(distance(still, other), [0.0, np.sqrt(25 / 2), np.inf])
    with pytest.raises(InputError, match="both must be the same"):
        distance(still, made_of(np.zeros((3, 5, 3)), np.zeros((3, 5, 3))))
    with pytest.raises(InputError, match="both must be the same"):
        distance(still, replace(other, time_step=0.2))


def test_the_lowest_vertex_is_that_of_the_end():
    positions = np.zeros((3, 2, 3))
    positions[:, 0, 1], positions[:, 1, 1] = (0, -5, -1), (0, -1, -2)
    moved = made_of(positions, np.zeros((3, 2, 3)))
    assert lowest(moved) == 1
    np.testing.assert_array_equal(heights(moved, 1), [0, -1, -2])


def test_energy_of_a_fall_and_of_a_spring():
    """½ m v² + ½ w (l - l₀)² - m g·x."""
    model = pair()
    (group,) = [group for group in model.groups if len(group)]
    q = np.array([[[0.0, 2.0, 0.0], [0.8, 2.0, 0.0]]])
    v = np.array([[[0.0, -3.0, 0.0], [0.0, -3.0, 0.0]]])
    mass = model.masses.sum()
    wanted = 0.5 * mass * 9.0 + 9.81 * mass * 2.0 + 0.5 * group.weights[0] * (0.8 - 0.5) ** 2
    assert energies(model, made_of(q, v))[0] == pytest.approx(wanted, rel=8 * U)


def test_angular_momentum_of_a_spinning_pair():
    """2 m r² ω about the middle, wherever the pair is and however it flies."""
    model, omega = pair(), 3.0
    q = np.array([[[9.75, 5.0, 0.0], [10.25, 5.0, 0.0]]])
    v = np.array([[[7.0, -0.25 * omega, 1.0], [7.0, 0.25 * omega, 1.0]]])
    inertia = model.masses.sum() * 0.25**2
    np.testing.assert_allclose(angular_momenta(model, made_of(q, v))[0], [0, 0, inertia * omega], atol=1e-6)


@pytest.mark.parametrize(
    ("times", "frames", "wanted"),
    [((0.25, 0.5, 0.75, 1.0), 120, [8, 15, 23, 30]), ((0.25, 0.5), 10, [8]), ((0.25,), 3, [3]), ((1e-9,), 3, [3])],
)
def test_frames_at(times, frames, wanted):
    assert frames_at(times, 0.033, frames) == wanted


def test_there_is_nothing_beyond_the_end():
    moved = made_of(np.zeros((3, 2, 3)), np.zeros((3, 2, 3)))
    assert moved.frame(0.2) == 2
    with pytest.raises(InputError, match=r"0\.3 s"):
        moved.frame(0.3)


# --- converged trajectories ---------------------------------------------------------------------------------------


def test_free_fall_is_exact():
    """Implicit Euler: y_n = -g h² n (n + 1)/2, whatever the number of steps a frame."""
    scene = Scene("fall", pair(), 0.02)
    for steps in (1, 4):
        fall = converged(scene, 10, steps=steps)
        n, h = steps * np.arange(11), 0.02 / steps
        np.testing.assert_allclose(fall.positions[:, 0, 1], -9.81 * h**2 * n * (n + 1) / 2, atol=1e-6)
        np.testing.assert_allclose(fall.velocities[:, 0, 1], -9.81 * h * n, atol=1e-4)
        assert (fall.steps, fall.settings["unsettled"]) == (steps, 0)


@pytest.mark.slow
def test_every_step_is_the_minimum(cloth):
    """A simulation by Newton's method with many iterations goes the same way, but for its float32 positions."""
    sim = cloth.simulate(solver="newton", budget=Budget(iterations=60))
    sim.substeps = 1
    mine = converged(cloth, 5)
    for k in range(1, 6):
        away = rms(sim.step().positions.astype(np.float64) - mine.positions[k])
        assert away <= k * k * (module.DRIFT * cloth.time_step + 16 * U)  # each step's error is a velocity that lasts


@pytest.mark.slow
def test_smaller_steps_damp_less(cloth):
    """Energy is lost by implicit Euler alone and less of it in small steps: air is taken out."""
    scene = replace(cloth, model=replace(cloth.model, air=0.0))
    coarse, fine = (energies(scene.model, converged(scene, 12, steps=steps)) for steps in (1, fine_steps(0.033)))
    assert fine_steps(0.033) == 33
    assert coarse[-1] < fine[-1] < fine[0] + 1e-6


@pytest.mark.slow
def test_kept_and_made_longer(cloth, folder, monkeypatch):
    """A longer one goes on from a shorter one, which is as good as a new one; a shorter one is read."""
    short = converged(cloth, 3)
    (path,) = folder.iterdir()
    assert path.name == f"motion-{digest(cloth, 1)}.npz"
    long = converged(cloth, 6)
    assert list(folder.iterdir()) == [path]
    np.testing.assert_array_equal(long.positions[:4], short.positions)
    np.testing.assert_allclose(long.positions, converged(cloth, 6, keep=False).positions, atol=module.DRIFT * 0.033)
    monkeypatch.setattr(module, "polish", None)  # nothing is solved any more
    for frames in (2, 6):
        again = converged(cloth, frames)
        assert len(again) == frames + 1
        np.testing.assert_array_equal(again.velocities, long.velocities[: frames + 1])


@pytest.mark.parametrize("damage", ["truncated", "empty", "text", "folder's other file"])
def test_a_damaged_file_is_made_again(cloth, folder, damage):
    wanted = converged(cloth, 2)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not a trajectory")
    else:
        np.savez(path, positions=np.zeros((3, 4, 3)))
    np.testing.assert_array_equal(converged(cloth, 2).positions, wanted.positions)
    assert path.read_bytes() == whole


def test_the_digest_tells_what_matters(cloth):
    def other(**changes):
        return replace(cloth, model=replace(cloth.model, **changes))

    scenes = [cloth, replace(cloth, time_step=0.02), other(air=0.1), other(viscosity=0.1)]
    scenes += [other(gravity=np.array([0.0, -9.0, 0.0])), other(masses=2 * cloth.model.masses)]
    scenes += [replace(cloth, start=1.1 * cloth.model.mesh.vertices), replace(cloth, model=cloth.model.pin([3]))]
    scenes += [make_scene("tablecloth", resolution=6, stretch=9e3), make_scene("tablecloth", resolution=6, bend=2e-4)]
    found = [digest(scene, 1) for scene in scenes] + [digest(cloth, 2)]
    assert len(set(found)) == len(found)
    same = replace(cloth, name="another", solver="jacobi", budget=FEW, frames=3)
    assert digest(same, 1) == digest(make_scene("tablecloth", resolution=6), 1) == found[0]


def test_a_folder_that_cannot_be_written_costs_nothing_else(cloth, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIVACE_CACHE", str(tmp_path / "file" / "below"))
    with pytest.warns(UserWarning, match="VIVACE_CACHE"):
        assert len(converged(cloth, 2)) == 3


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("VIVACE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("VIVACE_CACHE")
    assert cache_folder().name == "vivace"


def test_what_newton_does_not_know_is_refused(cloth):
    touching = replace(cloth, model=cloth.model.collide([Plane()]))
    for scene in (touching, replace(cloth, wind=(1.0, 0.0, 0.0))):
        with pytest.raises(InputError, match="there is no converged motion"):
            converged(scene, 2)
    for frames, steps in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match="at least one"):
            converged(cloth, frames, steps=steps)


# --- runs beside them -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_converged_solver_is_where_it_should_be(cloth):
    (newton,) = compare(cloth, ["newton"], iterations=[40], frames=10, samples=1, fine=True, times=(0.1, 0.3))
    (few,) = compare(cloth, ["jacobi"], iterations=[3], frames=10, samples=1, fine=True, times=(0.1, 0.3))
    row, other = newton.row(), few.row()
    assert row["motion_times_s"] == pytest.approx([0.099, 0.297])
    assert max(row["distance_m"]) < 1e-3 < min(other["distance_m"])
    assert row["fine_distance_m"][1] > 5 * row["distance_m"][1]  # the time step's own error
    assert row["lowest_m"] == pytest.approx(row["lowest_reference_m"], abs=1e-3)
    assert row["stretch_mean"] < other["stretch_mean"]
    assert newton.motion.energy[-1] == pytest.approx(newton.motion.reference_energy[-1], abs=1e-3)


@pytest.mark.slow
def test_references_are_made_once(cloth, monkeypatch):
    calls, plain = [], module.converged
    monkeypatch.setattr(module, "converged", lambda *a, **k: calls.append(k["steps"]) or plain(*a, **k))
    compare(cloth, ["jacobi", "vivace"], iterations=[1, 2], frames=2, samples=1, fine=True)
    assert sorted(calls) == [1, 33]


def test_what_touches_is_its_own_reference(cloth):
    scene = replace(cloth, model=cloth.model.collide([Plane()], itself=False))
    result = run(scene, solver="vivace", budget=FEW, frames=3, error_samples=0, record=True)
    moved = references_for(scene, 3).motion(result, "vivace")
    assert moved.reference.startswith("itself with 30 times as many sweeps")
    assert moved.fine is None
    assert moved.distance[0] == 0
    assert np.isfinite(moved.distance).all()


@pytest.fixture
def jelly():
    return Scene("jelly", Model.of(mesh.bar(5, 3, 3, (0.4, 0.1, 0.1)), Jelly()).pin("left"), 1 / 60)


@pytest.mark.slow
def test_constraints_by_value_have_converged_motion(jelly):
    """A jelly's volumes are known by their value alone: Newton's method follows the reference, a few passes do not."""
    (newton,) = compare(jelly, ["newton"], iterations=[40], frames=6, samples=1, times=(0.1,))
    (few,) = compare(jelly, ["pbd-coloured"], iterations=[1], frames=6, samples=1, times=(0.1,))
    assert newton.motion.reference.startswith("converged")
    assert newton.row()["distance_m"][0] < 1e-5 < 1e-3 < few.row()["distance_m"][0]


def test_large_bodies_known_by_value_are_their_own_reference(jelly):
    """Those of Newton's method would take hours, and the rounds that make the others do not know such constraints."""
    result = run(jelly, solver="pbd-coloured", budget=FEW, frames=2, error_samples=0, record=True)
    moved = References(jelly, 2, fine=True, newton=False).motion(result, "pbd-coloured")
    assert moved.reference.startswith("itself with 30 times as many sweeps")
    assert moved.fine is None


@pytest.mark.slow
def test_large_bodies_are_not_waited_for(cloth):
    large = replace(cloth, model=Model.of(mesh.cloth(150, 150), Cloth()))
    assert references_for(large, 3) is None
    assert references_for(large, 3, motion=True) is not None


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_a_lost_run_is_infinitely_far_away(cloth):
    result = run(cloth, solver="jacobi", budget=FEW, frames=2, error_samples=0, record=True)
    result.positions[1][:] = np.nan
    moved = references_for(cloth, 2, fine=False).motion(result, "jacobi")
    assert np.isinf(moved.distance[2])
    assert moved.row()["distance_m"] == [None]
    assert moved.row()["distance_median_m"] is None
