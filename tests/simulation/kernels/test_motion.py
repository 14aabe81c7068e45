"""Prediction and update of a step against one line of NumPy each; tolerances count the float32 roundings."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from kernel_twins import EPS32, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.simulation.kernels.motion import add_viscous, aim, hold_back, predict, update

N = 300


def random_rows(seed, scale=1.0):
    return to_rows(scale * np.random.default_rng(seed).standard_normal((N, 3)))


def run(kernel, n=N, threads=2, **arrays):
    Plan([kernel.over(0, n, **arrays)], threads).run()


@pytest.mark.parametrize("snap", [True, False])
def test_predict(snap):
    """s = q + air_factor (h v + h² a), start = s or, with `snap`, a pin's target, constant = inertia s + pin target."""
    rng = np.random.default_rng(0)
    q, v, a, target = (random_rows(k, scale) for k, scale in enumerate((1.0, 3.0, 10.0, 1.0)))
    inertia = rng.uniform(1, 100, N).astype(np.float32)
    pin = np.where(rng.random(N) < 0.2, 1e4, 0.0).astype(np.float32)
    h, air_factor = 1 / 30, 0.9
    flight = np.array([air_factor * h, h, snap], np.float32)
    s, start, constant = np.full((3, N, 4), np.nan, np.float32)
    given = {"q": q, "v": v, "acceleration": a, "inertia": inertia, "pin": pin, "target": target}
    run(predict, **given, s=s, start=start, constant=constant, travel=flight)
    q, v, a, target = (x.astype(np.float64) for x in (q, v, a, target))
    expected = q + air_factor * (h * v + h**2 * a)
    size = np.abs(q) + h * np.abs(v) + h**2 * np.abs(a)
    assert (np.abs(s - expected) <= 5 * EPS32 * size).all()
    assert np.array_equal(start, np.where(snap and pin[:, None] > 0, target, s).astype(np.float32))
    i, p = (x.astype(np.float64)[:, None] for x in (inertia, pin))
    size = i * np.abs(s) + p * np.abs(target)
    assert (np.abs(constant - (i * s + p * target)) <= 2 * EPS32 * size).all()


def test_predict_is_the_frame_of_the_system():
    """The kernels' s and constant are `System.frame` and `System.constant`, dampings and pins included."""
    model = vv.Model.of(vv.mesh.cloth(20, 15), vv.Cloth(stretch=100.0), air=0.7, viscosity=0.02)
    model = model.pin("corners", stiffness=1e4)
    system = vv.System(model, 1 / 60)
    assert model.n == N
    q, v, a = to_rows(model.mesh.vertices), random_rows(1), random_rows(2, 9.0)
    pin, target = system.pin_weight.astype(np.float32), np.zeros((N, 4), np.float32)
    target[model.pinned, :3] = model.targets
    s, start, constant = np.zeros((3, N, 4), np.float32)
    flight = np.array([system.air_factor * system.h, system.h, 1.0], np.float32)
    given = {"inertia": system.inertia.astype(np.float32), "pin": pin, "target": target, "travel": flight}
    run(predict, q=q, v=v, acceleration=a, s=s, start=start, constant=constant, **given)
    k = system.stiffness_off
    rows = {"indptr": k.indptr, "indices": k.indices, "off": k.data.astype(np.float32), "tie": np.zeros(N, np.float32)}
    run(add_viscous, **rows, q=q, constant=constant, factor=np.array([system.viscous], np.float32))
    wide = [x[:, :3].astype(np.float64) for x in (q, v, a)]
    frame = system.frame(*wide, model.targets)
    # h, h² and air_factor are rounded too: eight roundings; then the constant's sums and the row of K (20 neighbours)
    assert np.abs(s[:, :3] - frame.s).max() <= 8 * EPS32 * (np.abs(frame.s).max() + 1)
    assert np.abs(start[:, :3] - frame.start).max() <= 8 * EPS32 * (np.abs(frame.s).max() + 1)
    size = system.inertia.max() * np.abs(frame.s).max() + 1e4 + system.viscous * abs(k).sum(axis=1).max()
    assert np.abs(constant[:, :3] - system.constant(frame)).max() <= 30 * EPS32 * size


def test_add_viscous():
    """constant_i += factor (tie_i q_i + Σ_j K_ij (q_j - q_i))."""
    rng = np.random.default_rng(3)
    degrees = rng.integers(0, 8, N)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    indices = rng.integers(0, N, indptr[-1]).astype(np.int32)
    off = rng.standard_normal(indptr[-1]).astype(np.float32)
    q, constant, tie = random_rows(4), random_rows(5), rng.uniform(0, 3, N).astype(np.float32)
    before, factor = constant.astype(np.float64), np.array([2.5], np.float32)
    run(add_viscous, indptr=indptr, indices=indices, off=off, tie=tie, q=q, constant=constant, factor=factor)
    held = 2.5 * tie.astype(np.float64)[:, None] * q
    expected, size = before + held, np.abs(before) + np.abs(held)
    for i in range(N):
        for k in range(indptr[i], indptr[i + 1]):
            term = 2.5 * float(off[k]) * (q[indices[k]].astype(np.float64) - q[i])
            expected[i] += term
            size[i] += np.abs(term)
    assert (np.abs(constant - expected) <= 10 * EPS32 * size).all()


def test_update():
    """v = (new - q) / h, then q = new."""
    new, q = random_rows(6), random_rows(7)
    v, rate = np.zeros((N, 4), np.float32), np.array([30.0], np.float32)
    expected = 30.0 * (new.astype(np.float64) - q)
    run(update, new=new, q=q, v=v, rate=rate)
    assert np.array_equal(q, new)
    assert (np.abs(v - expected) <= 2 * EPS32 * np.abs(expected)).all()


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_aim(parts):
    """target = first + (k + 1)/parts (last - first) in part k, exact to three roundings; other vertices stay."""
    rng = np.random.default_rng(parts)
    vertices = rng.permutation(N)[:40].astype(np.int32)
    first, last = random_rows(20)[:40].copy(), random_rows(21)[:40].copy()
    target = np.full((N, 4), 7.0, np.float32)
    for k in range(parts):
        table = {"vertices": vertices, "first": first, "last": last, "target": target}
        aiming = aim.over(0, 40, **table, parts=np.array([parts], np.float32))
        Plan([], 2, before=[aiming]).run_parts([1] * (k + 1), [None] * (k + 1))
        expected = first + (k + 1) / parts * (last.astype(np.float64) - first)
        assert (np.abs(target[vertices] - expected) <= 3 * EPS32 * (np.abs(first) + np.abs(last))).all()
    assert np.array_equal(np.delete(target, vertices, axis=0), np.full((N - 40, 4), 7.0))


class Held:
    """Random velocities, accelerations, pins and shares; what late steps let through is anything from -1 to 2."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.acceleration = random_rows(seed, 10.0)
        self.acceleration[::7] = 0.0
        self.h, self.fall = 1 / 60, 0.9 / 60**2
        through = rng.uniform(-1, 2, (N, 1))
        self.before = random_rows(seed + 1)
        self.v = self.before + to_rows(through * self.h * self.acceleration[:, :3]) + random_rows(seed + 2, 0.02)
        self.start = random_rows(seed + 3)
        self.pin = np.where(rng.random(N) < 0.2, 1e4, 0.0).astype(np.float32)
        self.shares = rng.uniform(0, 1, N).astype(np.float32)
        self.pressed = np.where(rng.random(N) < 0.3, rng.uniform(0, 1, N), 0.0).astype(np.float32)

    def run(self, threads=2):
        names = ("v", "before", "acceleration", "start", "pin", "shares", "pressed")
        fall_off = np.array([1 / self.h, self.fall], np.float32)
        run(hold_back, **{name: getattr(self, name) for name in names}, fall_off=fall_off, threads=threads)


def test_hold_back():
    """α = (v - v_before)/h · a/|a|², cut to [0, 1], averaged with the last; start -= f h² (1 - α)(1 - pressed) a.

    α is rounded by some six operations on terms as large as |v - v_before| |a| / (h |a|²); what is taken away follows.
    """
    held = Held()
    start, old = held.start.copy(), held.shares.copy()
    held.run()
    kinds = {"pinned": 0, "no acceleration": 0, "clamped": 0, "between": 0}
    for i in range(N):
        a = held.acceleration[i, :3].astype(np.float64)
        if held.pin[i] > 0 or not a.any():
            kinds["pinned" if held.pin[i] > 0 else "no acceleration"] += 1
            np.testing.assert_array_equal(held.start[i], start[i])
            assert held.shares[i] == old[i]
            continue
        change = (held.v[i] - held.before[i])[:3].astype(np.float64)
        through = change @ a / (held.h * (a @ a))
        kinds["between" if 0 < through < 1 else "clamped"] += 1
        rounding = 8 * EPS32 * (np.abs(change) @ np.abs(a) / (held.h * (a @ a)) + 1)
        share = 0.5 * (float(old[i]) + min(max(through, 0.0), 1.0))
        assert abs(held.shares[i] - share) <= rounding
        back = held.fall * (1 - share) * (1 - float(held.pressed[i]))
        slack = held.fall * (rounding + 4 * EPS32) * np.abs(a) + EPS32 * np.abs(start[i, :3])
        assert (np.abs(held.start[i, :3] - (start[i, :3] - back * a)) <= slack).all()
    assert not held.start[:, 3].any()
    assert min(kinds.values()) > 10


def test_hold_back_of_what_falls_freely_and_of_what_rests():
    """v - v_before = h a for long: the whole of a is kept. v = v_before for long: nothing but what is pressed."""
    for through in (1.0, 0.0):
        held = Held(5)
        held.pin[:] = 0
        held.v = held.before + to_rows(through * held.h * held.acceleration[:, :3])
        for _ in range(30):  # shares halve their distance each time
            held.start[:] = 0
            held.run()
        moving = held.acceleration.any(axis=1)
        # v - v_before is known to EPS32 of v, which is some hundred times h a for the slowest
        np.testing.assert_allclose(held.shares[moving], through, atol=1e-3)
        taken = held.fall * (1 - through) * (1 - held.pressed[:, None]) * held.acceleration
        np.testing.assert_allclose(held.start, -taken, atol=1e-3 * held.fall * np.abs(held.acceleration).max())


def test_hold_back_does_not_depend_on_the_threads():
    found = []
    for threads in (1, 2, 3):
        held = Held(9)
        held.run(threads)
        found.append(held.start.tobytes() + held.shares.tobytes())
    assert found[0] == found[1] == found[2]


def test_a_step_with_viscosity_minimises_the_energy_of_the_system():
    """∇ε = 0 at the end of a converged step: to float32, some 1e-4 of the gradient at its start."""
    model = vv.Model.of(vv.mesh.cloth(5, 5), vv.Cloth(stretch=100.0), viscosity=0.02).pin("corners", stiffness=1e3)
    sim = vv.Simulation(model, solver="gauss-seidel", budget=vv.Budget(iterations=2000), time_step=1 / 60)
    start = model.mesh.vertices * [1.2, 1.0, 1.2]
    sim.positions = start
    start = sim.positions.astype(np.float64)
    system = vv.System(model, 1 / 60)
    gravity = np.tile(model.gravity, (model.n, 1))
    frame = system.frame(start.copy(), np.zeros_like(start), gravity, model.targets)
    sim.step()
    left = np.linalg.norm(system.gradient(sim.positions.astype(np.float64), frame))
    assert left <= 1e-4 * np.linalg.norm(system.gradient(start, frame))
