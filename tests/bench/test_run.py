"""`vivace.bench.run`: what is counted, when the error is measured, and that the settings repeat a run."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Jelly, Model, Simulation, mesh
from vivace.bench import run as bench_run
from vivace.bench.run import WARM_UP, run, settle
from vivace.scenes import Scene, make_scene

FEW = Budget(iterations=3)
ROUNDING = 2.0**-24  # of a float32, relative


@pytest.fixture(scope="module")
def cloth():
    return make_scene("tablecloth", resolution=6)


def test_the_warm_up_is_not_counted(cloth, monkeypatch):
    steps, plain = [], Simulation.step
    monkeypatch.setattr(Simulation, "step", lambda sim: steps.append(sim) or plain(sim))
    result = run(cloth, budget=FEW, frames=4, error_samples=0, record=True)
    assert len(steps) == WARM_UP + 4
    assert [sim is result.sim for sim in steps] == [False] * WARM_UP + [True] * 4
    assert result.sim.frames == len(result.ms) == len(result.sweeps) == len(result.stretch) == 4
    assert result.warm_up_s > 0


def test_the_run_is_the_simulation(cloth):
    result = run(cloth, budget=FEW, frames=4, error_samples=0, record=True)
    sim = cloth.simulate(budget=FEW)
    for found, speed in zip(result.positions, result.velocities, strict=True):
        np.testing.assert_array_equal(found, sim.step().positions)
        np.testing.assert_array_equal(speed, sim.velocities)
    whole = result.trajectory()
    np.testing.assert_array_equal(whole.positions[0], cloth.model.mesh.vertices.astype(np.float32))
    np.testing.assert_array_equal(whole.positions[1:], result.positions)
    np.testing.assert_allclose(whole.times, cloth.time_step * np.arange(5))
    assert result.finite
    assert list(result.stages) == ["predict", "collide", "colour", "solve", "guard", "update"]
    np.testing.assert_array_equal(result.sweeps, 3)


def test_positions_are_kept_only_when_asked_for(cloth):
    result = run(cloth, budget=FEW, frames=2, error_samples=0)
    assert result.positions == result.velocities == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frames", "samples"), [(1, 0), (1, 1), (1, 5), (2, 1), (2, 2), (3, 2), (3, 3), (3, 100), (5, 5), (8, 7), (7, 0)]
)
def test_as_many_errors_as_asked_for(cloth, frames, samples):
    """Every sample is a frame of its own, so there are min(samples, frames)."""
    result = run(cloth, budget=FEW, frames=frames, error_samples=samples)
    assert len(result.errors) == min(samples, frames)
    assert all(1 <= frame <= frames for frame in result.errors)
    assert all(isinstance(error, float) and error >= 0 for error in result.errors.values())


def test_huge_number_of_samples(cloth):
    assert len(run(cloth, budget=FEW, frames=1, error_samples=10**12).errors) == 1


@pytest.mark.slow
def test_errors_are_those_of_their_frames(cloth):
    result = run(cloth, budget=FEW, frames=5, error_samples=2)
    sim = cloth.simulate(budget=FEW)
    reports = {frame: sim.step() for frame in range(1, 6)}
    assert list(result.gradients) == list(result.errors)
    for frame, error in result.errors.items():
        report = reports[frame]
        assert error == report.relative_error
        first = np.linalg.norm(sim.system.gradient(report.frame.start, report.frame))
        assert result.gradients[frame] == pytest.approx(report.gradient / first, rel=1e-12)
    assert result.summary()["relative_error_median"] == pytest.approx(np.median(list(result.errors.values())))


@pytest.mark.slow
def test_constraints_by_value_have_errors():
    """The energy of a step has them, and so has its minimum: Newton's method reaches it, one pass does not."""
    jelly = Scene("jelly", Model.of(mesh.bar(5, 3, 3, (0.4, 0.1, 0.1)), Jelly()).pin("left"), 1 / 60)
    far = run(jelly, solver="pbd-coloured", budget=Budget(iterations=1), frames=3)
    near = run(jelly, solver="newton", budget=Budget(iterations=40), frames=3)
    assert len(far.errors) == len(near.errors) == 3
    assert near.summary()["relative_error_median"] < 1e-6 < 1e-2 < far.summary()["relative_error_median"]


def test_no_frames_is_refused(cloth):
    with pytest.raises(InputError, match="frames"):
        run(cloth, budget=FEW, frames=0)


@pytest.mark.parametrize("factor", [1.0, 1.25, 0.5])
def test_stretch_of_a_uniformly_scaled_cloth(factor):
    """Positions c x stretch every spring by |c - 1|, and a weightless cloth of next to no stiffness stays there."""
    sheet = mesh.cloth(8, 8)
    model = Model.of(sheet, Cloth(0.2, 1e-6, 1e-9), gravity=(0, 0, 0))
    result = run(Scene("scaled", model, 1e-4, start=factor * sheet.vertices), budget=FEW, frames=3, error_samples=0)
    # Each of the two ends of an edge is rounded in the start and in each of three frames.
    longest = factor * np.abs(sheet.vertices).max()
    shortest = np.linalg.norm(np.diff(sheet.vertices[sheet.edges], axis=1), axis=2).min()
    tolerance = 2 * 4 * np.sqrt(3) * ROUNDING * longest / shortest
    np.testing.assert_allclose(result.stretch, abs(factor - 1), atol=tolerance)
    for name in ("stretch_mean", "stretch_rms", "stretch_max"):
        assert result.summary()[name] == pytest.approx(abs(factor - 1), abs=tolerance)


def test_stretch_is_that_of_the_last_third(cloth):
    result = run(cloth, budget=FEW, frames=6, error_samples=0)
    mean, root, largest = result.stretch[4:].T
    summary = result.summary()
    assert summary["stretch_mean"] == pytest.approx(mean.mean())
    assert summary["stretch_rms"] == pytest.approx(np.sqrt(np.mean(root**2)))
    assert summary["stretch_max"] == largest.max()
    assert summary["stretch_mean"] <= summary["stretch_rms"] <= summary["stretch_max"]


def test_one_frame_has_a_stretch(cloth):
    assert run(cloth, budget=FEW, frames=1, error_samples=0).summary()["stretch_mean"] is not None


@pytest.mark.parametrize(
    ("solver", "budget"),
    [("vivace:omega=1.5,ramp=0", Budget(iterations=4)), (("jacobi", {"omega": 0.5}), Budget(iterations=2, ms=1e6))],
)
def test_settings_repeat_the_run(solver, budget):
    scene = make_scene("tablecloth", resolution=5, irregular=True, seed=3)
    first = run(scene, solver=solver, budget=budget, frames=3, threads=2, seed=7, error_samples=0, record=True)
    settings = json.loads(json.dumps(first.settings()))
    options = settings["solver"]
    again = run(
        make_scene(settings["scene"], **settings["parameters"]),
        solver=(options.pop("name"), options),
        budget=Budget(**settings["budget"]),
        threads=settings["threads"],
        seed=settings["seed"],
        frames=settings["frames"],
        error_samples=0,
        record=True,
    )
    assert again.settings() == first.settings()
    assert settings["time_step"] == scene.time_step
    np.testing.assert_array_equal(again.positions, first.positions)


@pytest.mark.slow
def test_progress_comes_to_its_end(cloth):
    seen = {}
    run(cloth, budget=FEW, frames=3, error_samples=2, progress=lambda *told: seen.setdefault(told[0], []).append(told))
    assert list(seen) == ["warming up", "preparing", "simulating", "measuring the error"]
    for told in seen.values():
        assert told[-1][1] == told[-1][2]
    assert [done for _, done, _ in seen["simulating"]] == [1, 2, 3]


def test_the_scenes_own_solver_and_budget_by_default(cloth):
    scene = Scene("own", cloth.model, 0.02, solver=("jacobi", {"omega": 0.7}), budget=Budget(iterations=6), frames=2)
    result = run(scene, error_samples=0)
    assert len(result.ms) == 2
    solver = result.settings()["solver"]
    assert (solver["name"], solver["omega"]) == ("jacobi", 0.7)
    np.testing.assert_array_equal(result.sweeps, 6)


@pytest.mark.parametrize(
    ("busy", "slept"),
    [((1.0, 0.0), 2), ((0.5, 0.5, 0.5, 0.1), 4), ((1.0,) * 100, 5)],
    ids=["idle", "for a while", "always"],
)
def test_settling_ends_when_nothing_is_busy_or_its_time_is_up(monkeypatch, busy, slept):
    """`busy` is the share of the process in each hundredth of a second; 50 ms are five of them."""
    clock, shares = {"wall": 0.0, "process": 0.0, "naps": 0}, iter(busy)

    def sleep(seconds):
        clock["wall"] += seconds
        clock["process"] += seconds * next(shares)
        clock["naps"] += 1

    times = SimpleNamespace(perf_counter=lambda: clock["wall"], process_time=lambda: clock["process"], sleep=sleep)
    monkeypatch.setattr(bench_run, "time", times)
    settle(0.0499)
    assert clock["naps"] == slept
