"""Comparisons: live runs, and one frozen frame that all solvers start from."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from vivace import Budget, InputError, Simulation
from vivace.bench import frozen as frozen_module
from vivace.bench.compare import Curve, compare, write_csv
from vivace.bench.converged import is_solvable
from vivace.bench.frozen import SWEEPS, compare_frozen, freeze, sweep_counts
from vivace.bench.study import FRAME_FILES, LIVE_FILES, write_study
from vivace.scenes import Scene, make_scene
from vivace.solvers import make_solver, minimise
from vivace.solvers.reference import polish

COUNTS = (1, 2, 5, 12, 30)


@pytest.fixture(scope="module")
def cloth():
    return make_scene("tablecloth", resolution=6)


@pytest.fixture(scope="module")
def state(cloth):
    return freeze(cloth, 3)


@pytest.fixture(scope="module")
def curves(state):
    return compare_frozen(state, ["vivace", "jacobi"], [0.5], iterations=COUNTS, repeat=2)


def test_what_creases_is_not_frozen():
    with pytest.raises(InputError, match="tablecloth creases as it moves"):
        freeze(make_scene("tablecloth", resolution=6, crease=2.0), 1)


@pytest.mark.slow
@pytest.mark.parametrize(("frames", "samples"), [(1, 1), (1, 8), (4, 8), (5, 8), (4, 4), (6, 3)])
def test_a_finite_comparison_has_finite_errors(cloth, frames, samples):
    (curve,) = compare(cloth, ["jacobi"], [0.5], frames=frames, samples=samples)
    assert curve.finite
    assert len(curve.frames) == len(curve.errors) == len(curve.gradients) == min(frames, samples)
    assert np.isfinite(curve.errors).all()
    assert np.isfinite(curve.gradients).all()
    assert len(curve.sweeps) == len(curve.ms) == frames
    assert curve.frames.min() >= 1
    assert curve.frames.max() <= frames


@pytest.mark.slow
def test_a_live_comparison_is_the_simulation(cloth):
    (curve,) = compare(cloth, ["jacobi"], iterations=[3], frames=4, samples=2)
    sim = cloth.simulate(solver="jacobi", budget=Budget(iterations=3))
    reports = [sim.step() for _ in range(4)]
    assert curve.errors.tolist() == [reports[k - 1].relative_error for k in curve.frames]
    assert curve.sweeps.tolist() == [3] * 4
    row = curve.row()
    assert (row["scene"], row["mode"], row["budget_ms"], row["iterations"]) == ("tablecloth", "live", None, 3)


@pytest.mark.slow
def test_the_state_is_that_of_a_converged_trajectory(cloth, state):
    """Step by step: s = q + (h v + h² g)/(1 + air h), and q the minimum, here by a reference ten times as accurate."""
    h, model = cloth.time_step, cloth.model
    q, v = model.mesh.vertices, np.zeros((model.n, 3))
    system = state.system
    for _ in range(2):
        frame = system.frame(q, v, np.broadcast_to(model.gravity, q.shape), model.targets)
        new = minimise(system, frame, accuracy=1e-6).q
        q, v = new, (new - q) / h
    assert state.number == 3
    drop = np.ptp(q[:, 1])
    np.testing.assert_allclose(state.positions, q, atol=0.02 * drop)
    np.testing.assert_allclose(state.velocities, v, atol=0.02 * drop / h)


def test_the_first_frame_starts_where_the_scene_does(cloth):
    scene = Scene("stretched", cloth.model, cloth.time_step, start=1.1 * cloth.model.mesh.vertices)
    state = freeze(scene, 1)
    np.testing.assert_array_equal(state.positions, scene.start.astype(np.float32))
    np.testing.assert_array_equal(state.velocities, 0)


@pytest.mark.slow
def test_all_start_from_the_same_state(state, monkeypatch):
    """Every step poses the same problem, bit for bit, whatever solver and whatever came before."""
    frames, plain = [], Simulation.step

    def step(sim, budget):
        report = plain(sim, budget)
        frames.append(report.frame)
        return report

    monkeypatch.setattr(Simulation, "step", step)
    compare_frozen(state, ["vivace", "jacobi", "gauss-seidel"], [0.2], iterations=[1, 7], repeat=2)
    assert len(frames) == 3 * 2 * (1 + 3)  # each turn warms up with one step
    for frame in frames:
        for name in ("s", "start", "previous", "targets"):
            np.testing.assert_array_equal(getattr(frame, name), getattr(state.frame, name))


@pytest.mark.slow
def test_every_simulation_is_prepared_once(state, monkeypatch):
    prepared = []
    cls = type(make_solver("jacobi"))
    plain = cls.prepare
    monkeypatch.setattr(cls, "prepare", lambda self, *a, **k: prepared.append(self) or plain(self, *a, **k))
    compare_frozen(state, ["jacobi"], iterations=[1, 2], repeat=3)
    assert len(prepared) == 1


@pytest.mark.slow
def test_rows(state, curves):
    budgets = [(0.5, None), *((None, count) for count in COUNTS)]
    rows = [curve.row() for curve in curves]
    found = [(row["solver"], row["budget_ms"], row["iterations"]) for row in rows]
    assert found == [(solver, *budget) for solver in ("vivace", "jacobi") for budget in budgets]
    for curve, row in zip(curves, rows, strict=True):
        assert (row["scene"], row["mode"], row["finite"]) == ("tablecloth", "frame", True)
        assert len(curve.errors) == len(curve.gradients) == len(curve.ms) == len(curve.sweeps) == 2
        assert curve.frames.tolist() == [3, 3]
        assert 0 <= row["relative_error_median"] <= row["relative_error_max"] <= 1
        assert row["iterations"] in (None, row["sweeps_per_frame_median"])


@pytest.mark.slow
def test_errors_agree_with_an_independent_computation(cloth, state, curves):
    """(ε(q) - ε*) / (ε(q⁰) - ε*) and ‖∇ε(q)‖ / ‖∇ε(q⁰)‖ of the user's own step, with ε* from another start."""
    best = minimise(state.system, state.frame, state.frame.previous, accuracy=1e-9, most=10_000).energy
    for curve in curves:
        if curve.budget.iterations is None:
            continue
        sim = cloth.simulate(solver=curve.solver, budget=curve.budget)
        sim.positions, sim.velocities = state.positions, state.velocities
        report = sim.step()
        system, frame = sim.system, report.frame
        first, gradient = system.evaluate(frame.start, frame)
        # The reference is accurate to about ten times 1e-7 of the gap; twice that, to be safe.
        np.testing.assert_allclose(curve.errors, (report.energy - best) / (first - best), atol=2e-6)
        np.testing.assert_allclose(curve.gradients, report.gradient / np.linalg.norm(gradient), rtol=1e-12)


@pytest.mark.slow
def test_more_sweeps_leave_no_more_error(curves):
    errors = [curve.errors[0] for curve in curves if curve.solver == "vivace" and curve.budget.iterations]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.2 * errors[0]


@pytest.mark.slow
def test_the_reference_is_never_above_a_result(cloth):
    """A reference that was stopped early starts again from the best result, so no error is negative."""
    state = freeze(cloth, 2)
    state.reference = minimise(state.system, state.frame, accuracy=0.5)
    early = state.reference.energy
    curves = compare_frozen(state, ["vivace"], iterations=[60, 400], repeat=1)
    assert state.reference.energy < early
    assert all((curve.errors >= 0).all() for curve in curves)
    gap = state.system.energy(state.frame.start, state.frame) - state.reference.energy
    assert freeze(cloth, 2).reference.energy == pytest.approx(state.reference.energy, abs=1e-6 * gap)


@pytest.mark.slow
def test_a_reference_that_did_not_converge_tells_nothing(cloth, monkeypatch):
    monkeypatch.setattr(frozen_module, "MOST", 2)
    state = freeze(cloth, 2)
    (curve,) = compare_frozen(state, ["jacobi"], iterations=[1], repeat=1)
    assert not state.telling
    assert np.isnan(curve.errors).all()
    assert curve.row()["relative_error_median"] is None
    assert curve.row()["gradient_median"] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_a_diverged_solve_is_infinitely_wrong(state):
    solver = "vivace:relaxation=printed,omega=1.9,refresh=0"
    few, many = compare_frozen(state, [solver], iterations=[1, 2000], repeat=1)
    assert few.finite
    assert not many.finite
    assert np.isinf(many.errors).all()
    assert np.isinf(many.gradients).all()
    assert many.row()["relative_error_max"] is None


@pytest.mark.parametrize(
    ("most", "counts"),
    [(1, [1]), (2, [1, 2]), (10, [1, 2, 3, 5, 8, 10]), (60, list(SWEEPS)), (200, [*SWEEPS, 120, 200])],
)
def test_sweep_counts(most, counts):
    assert sweep_counts(most) == counts


@pytest.mark.parametrize("frame", [0, -1, 1.5, True, None])
def test_no_such_frame(cloth, frame):
    with pytest.raises(InputError, match="counted from 1"):
        freeze(cloth, frame)


def test_mistakes_are_told_before_anything_runs(cloth, state, monkeypatch):
    def step(*_):
        raise AssertionError("a step was made")

    monkeypatch.setattr(Simulation, "step", step)
    for call in (lambda *a, **k: compare(cloth, *a, frames=1, **k), lambda *a, **k: compare_frozen(state, *a, **k)):
        with pytest.raises(InputError, match="at least one solver"):
            call([], [1])
        with pytest.raises(InputError, match="one budget"):
            call(["jacobi"], [], iterations=[])
        with pytest.raises(InputError, match="did you mean 'jacobi'"):
            call(["jacoby"], [1])
        with pytest.raises(InputError, match="positive"):
            call(["jacobi"], [-1])
        with pytest.raises(InputError, match="whole number"):
            call(["jacobi"], iterations=[2.5])
        with pytest.raises(InputError, match="twice"):
            call(["jacobi", "jacobi"], [1])
    with pytest.raises(InputError, match="repeat"):
        compare_frozen(state, ["jacobi"], [1], repeat=0)


@pytest.mark.slow
def test_csv_round_trip(tmp_path, curves):
    write_csv(curves, tmp_path / "errors.csv")
    with (tmp_path / "errors.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    errors = np.concatenate([curve.errors for curve in curves])
    gradients = np.concatenate([curve.gradients for curve in curves])
    np.testing.assert_array_equal([float(line["relative_error"]) for line in lines], errors)
    np.testing.assert_array_equal([float(line["gradient"]) for line in lines], gradients)
    assert {line["budget_ms"] for line in lines} == {"0.5", ""}
    assert {line["iterations"] for line in lines} == {"", *map(str, COUNTS)}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "measure"), [("live", "gradient"), ("frame", "energy")])
def test_a_study_of_a_dozen_solvers_with_long_names(tmp_path, mode, measure):
    """Every file is there, settings are inside, and the legend does not squeeze the plots out."""
    names = [f"chebyshev(jacobi:omega=0.{k},refresh=1):rho=0.999,delay=10,gamma=0.{k}" for k in range(11)]
    values = np.geomspace(1, 1e-9, 8)
    made = [
        Curve(
            scene, name, mode, budget, 0.03, np.arange(8), values, values[::-1], np.full(8, 3), 1 + values, finite=True
        )
        for scene in ("one", "two")
        for name in [*names, "n" * 200]
        for budget in (Budget(ms=4), Budget(iterations=3))
    ]
    written = write_study(tmp_path, made, {"seed": 7}, measure=measure)
    assert [path.name for path in written] == list(LIVE_FILES if mode == "live" else FRAME_FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    assert len(json.loads((tmp_path / "settings.json").read_text())["rows"]) == len(made)
    for path in tmp_path.glob("*.png"):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
            assert json.loads(image.text["vivace"])["seed"] == 7
        assert pixels.std() > 10
        assert pixels[len(pixels) // 2 :].std() > 10  # the lower half is plots


@pytest.mark.slow
def test_progress_comes_to_its_end(cloth):
    seen = {}
    tell = lambda what, *counts: seen.setdefault(what, []).append(counts)  # noqa: E731
    compare_frozen(freeze(cloth, 2, progress=tell), ["jacobi"], iterations=[1, 2], repeat=2, progress=tell)
    assert any("converged frames" in what for what in seen)
    assert any("solving" in what for what in seen)
    for counts in seen.values():
        assert counts[-1][0] == counts[-1][1]


@pytest.mark.slow
def test_scenes_with_a_solver_of_their_own(cloth):
    """A frozen comparison does not depend on the scene's own solver or budget."""
    other = Scene("tablecloth", cloth.model, cloth.time_step, solver="gauss-seidel", budget=Budget(iterations=1))
    np.testing.assert_array_equal(freeze(other, 2).positions, freeze(cloth, 2).positions)


# --- descent methods on hyperelastic bodies, and beside projective dynamics [fratarcangeli2018, Fig. 11 and 13] -------

FAMILY = ["descent", "descent:direction=l-bfgs", "descent:direction=nonlinear-cg", "newton-multigrid"]


@pytest.fixture(scope="module")
def rubber():
    return make_scene("box", resolution=4, mode="twist", amount=60)


@pytest.mark.slow
def test_the_reference_of_a_hyperelastic_frame_is_its_minimum(rubber):
    """By L-BFGS; Newton's method in float64, from elsewhere, finds the same energy and the same place."""
    state = freeze(rubber, 3)
    assert state.telling
    system, frame, found = state.system, state.frame, state.reference
    assert system.objective.own
    newton = polish(system, frame)
    assert newton.converged
    gain = system.energy(frame.start, frame) - newton.energy
    assert abs(found.energy - newton.energy) < 1e-6 * gain
    assert np.sqrt(np.mean(np.sum((found.q - newton.q) ** 2, axis=1))) < 1e-4
    assert np.linalg.norm(system.gradient(newton.q, frame)) < 1e-4 * np.linalg.norm(system.gradient(frame.start, frame))


@pytest.mark.slow
def test_descent_methods_on_a_hyperelastic_frame(rubber):
    """Figure 11: all go down to the same minimum."""
    found = compare_frozen(freeze(rubber, 3), FAMILY, iterations=(1, 8, 32), repeat=1)
    errors = {name: [float(c.errors[0]) for c in found if c.solver == name] for name in FAMILY}
    for name in FAMILY:
        first, second, third = errors[name]
        assert first > second > third > -1e-7, name
    assert max(errors[name][2] for name in FAMILY) < 0.05


@pytest.mark.slow
def test_descent_beside_projective_dynamics(cloth):
    """Figure 13, on a cloth of springs: ε of `descent` and of `direct` falls to the same minimum."""
    found = compare_frozen(freeze(cloth, 5), ["descent", "direct", "jacobi"], iterations=(4, 64, 400), repeat=1)
    errors = {name: [float(c.errors[0]) for c in found if c.solver == name] for name in ("descent", "direct", "jacobi")}
    for name, (first, second, third) in errors.items():
        assert first > second > third > -1e-6, name
    assert errors["descent"][1] < errors["jacobi"][1]
    assert max(errors[name][2] for name in ("descent", "direct")) < 0.01


@pytest.mark.slow
def test_live_hyperelastic_runs_are_measured_against_converged_steps(rubber):
    """Newton's method in float64, for all of them alike: `newton`, which ends its steps there, is at no distance."""
    curves = compare(rubber, ["newton", "descent"], iterations=[12], frames=3, samples=1, fine=False)
    newton, descent = (curve.motion for curve in curves)
    assert newton.reference.startswith("converged")
    assert descent.reference == newton.reference
    assert newton.distance[-1] < 5e-5  # m
    assert descent.distance[-1] > 4 * newton.distance[-1]
    assert not is_solvable(replace(rubber, integrator="quasi-static"))
