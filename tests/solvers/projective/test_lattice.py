"""The smooth lattice: its space, its matrix beside the exact one, and what its steps do to energy and motion."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from solvers.rounding import U, moving_frame, rows, small_scene
from vivace import (
    Budget,
    Cloth,
    Frame,
    InputError,
    Model,
    Simulation,
    Solid,
    System,
    Wire,
    mesh,
)
from vivace.backends.cpu.executor import Plan
from vivace.collisions import Plane
from vivace.energy.hessian import Hessian
from vivace.mesh import Mesh
from vivace.scenes import make_scene
from vivace.solvers import Deadline, Outcome, make_solver
from vivace.solvers.base import LEAST_ROUNDS
from vivace.solvers.projective import lattice as lattice_module
from vivace.solvers.projective.kernels import lattice as kernel
from vivace.solvers.projective.lattice_parts import axes_of, cells_for, work
from vivace.solvers.projective.lattice_space import LatticeSpace, lattice_spaces
from vivace.solvers.projective.lbfgs import LBFGS
from vivace.solvers.reference import polish


def wire(n: int = 30, along: tuple[float, float, float] = (1.0, 0.0, 0.0)) -> Mesh:
    points = np.linspace(0, 1, n)[:, None] * np.array(along)
    return Mesh.from_edges(points, np.c_[np.arange(n - 1), np.arange(1, n)])


def bodies() -> dict[str, tuple[Model, list[int]]]:
    """Models, and the dimensions of their parts' lattices."""
    sheet, block = mesh.cloth(12, 12), mesh.cube(4)
    two = mesh.join([sheet, sheet.transformed(translate=(3, 0, 0))])
    edge = np.flatnonzero(sheet.vertices[:, 0] == sheet.vertices[:, 0].max())
    seam = np.c_[edge, edge + len(sheet.vertices)]
    return {
        "cloth": (Model.of(sheet, Cloth()).pin("top-corners"), [2]),
        "turned cloth": (Model.of(_turned(sheet), Cloth()).pin([0]), [2]),
        "irregular cloth": (Model.of(mesh.cloth(12, 12, irregular=True), Cloth()).pin("top-corners"), [2]),
        "bent cloth": (Model.of(_bent(sheet), Cloth()).pin([0]), [3]),
        "cube": (Model.of(block, Solid()), [3]),
        "bar": (Model.of(mesh.bar(9, 3, 3), Solid()), [3]),
        "wire": (Model.of(wire(), Wire()).pin([0]), [1]),
        "slanted wire": (Model.of(wire(30, (1.0, 2.0, -0.5)), Wire()).pin([0]), [1]),
        "two cloths": (Model.of(two, Cloth()).pin([0]), [2, 2]),
        "welded cloths": (Model.of(two, Cloth()).pin([0]).constrain("weld", seam, 1e3), [2]),
        "tiny wire": (Model.of(wire(5), Wire()).pin([0]), []),
        "tiny cloth": (Model.of(mesh.cloth(2, 2), Cloth()), []),
    }


def _turned(body: Mesh) -> Mesh:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    return Mesh.from_triangles(body.vertices @ turn.T, body.triangles)


def _bent(body: Mesh) -> Mesh:
    points = body.vertices.copy()
    points[:, 1] += 0.3 * points[:, 0] ** 2
    return Mesh.from_triangles(points, body.triangles)


BODIES = list(bodies())


@pytest.fixture(params=BODIES)
def body(request) -> tuple[Model, list[int]]:
    return bodies()[request.param]


def spaces_of(model: Model, cells: int = 16, h: float = 0.033) -> tuple[System, list[LatticeSpace]]:
    system = System(model, h)
    return system, lattice_spaces(system, cells)


# --- the space -------------------------------------------------------------------------------------------------------


def test_every_connected_part_has_a_lattice_of_its_own_dimensions(body):
    """Planar, straight, volumetric; what is welded is one part, and what is tiny has none."""
    model, dims = body
    _, spaces = spaces_of(model)
    assert sorted(space.dims for space in spaces for _ in space.parts) == sorted(dims)
    held = [part.vertices for space in spaces for part in space.parts]
    assert len(np.unique(np.concatenate([*held, np.zeros(0, int)]))) == sum(map(len, held))


def test_hats_are_a_partition_of_unity_and_reproduce_linear_functions(body):
    """P 1 = 1 and P ξ(nodes) = ξ(vertices), so P moves a part by any affine motion of its rest shape."""
    model, _ = body
    for space in spaces_of(model)[1]:
        p = space.prolongation
        inside = np.concatenate([part.vertices for part in space.parts])
        np.testing.assert_allclose(p.sum(axis=1)[inside], 1.0, atol=1e-12)
        assert p.data.min() >= -1e-12
        nodes = np.concatenate([np.indices(part.cells + 1).reshape(space.dims, -1).T for part in space.parts])
        for part in space.parts:
            np.testing.assert_allclose((p @ nodes)[part.vertices], part.xi, atol=1e-9)
            # ξ is an affine function of the rest positions: rigid motions and stretches are in the space
            x = np.c_[np.ones(len(part.vertices)), model.mesh.vertices[part.vertices]]
            fitted = x @ np.linalg.lstsq(x, part.xi, rcond=None)[0]
            np.testing.assert_allclose(fitted, part.xi, atol=1e-9)


def test_axes_of_equal_extents_and_of_lines():
    """A cube, a square and a line: three, two and one axis, all orthonormal, each as long as the points reach."""
    corners = np.indices((2, 2, 2)).reshape(3, -1).T.astype(float)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    for points, dims in ((corners, 3), (corners[corners[:, 2] == 0], 2), (np.outer(np.arange(5.0), [1, 1, 1]), 1)):
        for moved in (points, points @ turn.T + 5.0):
            axes, extents = axes_of(moved)
            assert len(axes) == len(extents) == dims
            np.testing.assert_allclose(axes @ axes.T, np.eye(dims), atol=1e-12)
            np.testing.assert_allclose(np.ptp(moved @ axes.T, axis=0), extents)
            assert (np.diff(extents) <= 1e-12).all()
            left = moved - moved.mean(axis=0)
            np.testing.assert_allclose(left @ axes.T @ axes, left, atol=1e-9)


def test_cells_are_as_many_as_asked_for_unless_small_or_dear():
    extents = np.array([2.0, 1.0])
    assert cells_for(extents, 1e-3, 16, 1e9).tolist() == [16, 8]
    assert cells_for(extents, 1e-3, 1, 1e9).tolist() == [1, 1]
    assert cells_for(extents, 0.5, 16, 1e9).tolist() == [1, 1]  # cells of at least 3.2 edges
    few = cells_for(extents, 1e-3, 16, 1e5)
    assert 1 <= few[0] < 16
    assert work(few) <= 1e5
    assert cells_for(extents, 1e-3, 16, 0.0).tolist() == [1, 1]  # one cell is always possible


# --- the matrix ------------------------------------------------------------------------------------------------------


def matrices(model: Model, q: np.ndarray, cells: int = 16) -> tuple[np.ndarray, np.ndarray, LatticeSpace]:
    """The assembled slabs as a dense matrix and the exact PᵀHP, both at q (3 nodes, 3 nodes)."""
    solver = make_solver(("lattice", {"cells": cells}))
    system = System(model, 0.033)
    solver.prepare(system, threads=1, seed=0)
    (space,) = solver._spaces
    solver.layout.load(rows(q), rows(q))
    r, x = np.zeros((system.n, 4), np.float32), np.zeros((space.nodes, 4), np.float32)
    phases = space.bind(solver.layout, r, x)
    Plan(phases[:3], 1).run()
    u, size = phases[2].arrays["u"], 3 * space.nodes
    slabs = np.zeros((size, size))
    for slab in space.slabs:
        n, at = 3 * slab[kernel.SIZE], 3 * slab[kernel.FIRST_NODE]
        rows_ = u[slab[kernel.MATRIX] : slab[kernel.MATRIX] + 2 * n * n].reshape(n, 2 * n)
        upper = np.triu(rows_[:, :n])
        slabs[at : at + n, at : at + n] = upper + np.triu(upper, 1).T
        if slab[kernel.NEXT] >= 0:
            to = 3 * space.slabs[slab[kernel.NEXT], kernel.FIRST_NODE]
            slabs[at : at + n, to : to + n] = rows_[:, n:]
            slabs[to : to + n, at : at + n] = rows_[:, n:].T
    p = sp.kron(space.prolongation, np.eye(3))
    exact = (p.T @ Hessian(system)(q.astype(np.float32).astype(np.float64)) @ p).toarray()
    lone = np.flatnonzero(exact.diagonal() == 0)
    exact[lone, lone] = 1.0
    return slabs, exact, space


def moved(model: Model, amount: float) -> np.ndarray:
    """Smoothly bent, turned and stretched, and a little rough."""
    q, rng = model.mesh.vertices.copy(), np.random.default_rng(0)
    edge = np.ptp(q, axis=0).max() / 11
    q += amount * np.c_[np.sin(3 * q[:, 1]), np.cos(4 * q[:, 0]), q[:, 0] * q[:, 1]] * 0.3
    return q + amount * 0.1 * edge * rng.standard_normal(q.shape)


@pytest.mark.parametrize("amount", [0.0, 1.0])
def test_the_matrix_is_exact_where_springs_end_at_the_borders_of_cells(amount):
    """Cells of five edges each, nothing crosses: PᵀHP to the roundings of float32 sums."""
    model = Model.of(mesh.cloth(21, 21), Cloth(bend=0.0)).pin("top-corners")
    slabs, exact, space = matrices(model, moved(model, amount), 4)
    assert space.parts[0].cells.tolist() == [4, 4]
    np.testing.assert_allclose(slabs, exact, atol=2e-6 * np.abs(exact).max())


@pytest.mark.parametrize("amount", [0.0, 1.0])
@pytest.mark.parametrize("name", ["cloth", "irregular cloth", "turned cloth", "bent cloth", "wire", "welded cloths"])
def test_the_matrix_of_springs_lies_above_the_exact_one_and_not_far(name, amount):
    """PᵀHP <= M + E and M <= 2 PᵀHP: pieces of springs cut at borders are never softer than the spring [`_pieces`].

    E is what float32 may lose: at rest a spring's stiffness across, w (1 - l/|d|), is all rounding, some u w, and the
    motions that feel nothing else are softer than that by orders: 8 u Pᵀ diag(Y) P in a plane, and 64 u where sums of
    seven features cancel. A shell in a lattice of three dimensions is thinner than its cells: the motion of their upper
    nodes against the lower ones hardly moves its vertices, but what it does to pieces of springs counts, up to 10.
    """
    shell = name == "bent cloth"
    model, _ = bodies()[name]
    slabs, exact, space = matrices(model, moved(model, amount))
    p = sp.kron(space.prolongation, np.eye(3)).toarray()
    lost = (64 if shell else 8) * U * (p.T * np.repeat(System(model, 0.033).stiffness_diagonal, 3)) @ p
    assert scipy.linalg.eigh(slabs + lost, exact, eigvals_only=True)[0] >= 1 - 1e-6
    ratios = scipy.linalg.eigh(slabs, exact, eigvals_only=True)
    assert ratios[0] >= 1 - (1e-6 if amount else 1e-2)
    assert ratios[-1] <= (10.0 if shell else 2.0)


@pytest.mark.parametrize("name", ["cube", "bar"])
def test_the_matrix_of_tetrahedra_is_positive_and_near_the_exact_one_at_rest(name):
    """At rest linear elasticity is the Hessian, but a few of a cell's tetrahedra stand for all of them."""
    model, _ = bodies()[name]
    slabs, exact, _ = matrices(model, model.mesh.vertices)
    ratios = scipy.linalg.eigh(slabs, exact, eigvals_only=True)
    assert 0.3 <= ratios[0] <= ratios[-1] <= 3.0


def test_pins_are_in_the_matrix_and_leave_it():
    """The matrix with pins minus that without is Pᵀ diag(pins) P."""
    model = Model.of(mesh.cloth(12, 12), Cloth())
    q, pinned = moved(model, 0.5), model.pin([3, 70], stiffness=1e4)
    free, _, space = matrices(model, q)
    held, _, _ = matrices(pinned, q)
    p = sp.kron(space.prolongation, np.eye(3)).toarray()
    weight = np.repeat(System(pinned, 0.033).pin_weight, 3)
    np.testing.assert_allclose(held - free, (p.T * weight) @ p, atol=1e-9 * np.abs(held).max())


# --- its steps -------------------------------------------------------------------------------------------------------


def energies(system: System, frame: Frame, start: np.ndarray, counts: list[int], **options) -> list[float]:
    """ε (float64) at `start` as float32 holds it, and after so many rounds from there."""
    solver = make_solver(("lattice", options))
    solver.prepare(system, threads=1, seed=0)
    found = [system.energy(start.astype(np.float32).astype(np.float64), frame)]
    for count in counts:
        out = np.zeros((system.n, 4), np.float32)
        constant = rows(system.constant(frame))
        solver.solve(rows(start), constant, out, Deadline.of(Budget(iterations=count)))
        assert np.isfinite(out).all()
        found.append(system.energy(out[:, :3].astype(np.float64), frame))
    return found


@pytest.mark.parametrize("rough", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ["tablecloth", "hanging-cloth", "bar", "cube", "armadillo"])
def test_energy_falls_from_rough_states(name, rough):
    """After 1, 2, 4, 8 and 16 rounds it is below where they began, for springs and for tetrahedra."""
    system, frame = moving_frame(small_scene(name))
    x = system.model.mesh.vertices
    edge = np.ptp(x, axis=0).max() / 11
    start = frame.s + rough * edge * np.random.default_rng(0).standard_normal(x.shape)
    first, *later = energies(system, frame, start, [1, 2, 4, 8, 16])
    for energy in later:
        assert energy <= first * (1 + 1e-6)
    assert later[-1] <= min(later[:3]) * (1 + 1e-6)


@pytest.mark.parametrize("name", ["tablecloth", "hanging-cloth", "bar", "cube"])
def test_it_converges_to_newtons_minimum(name):
    """Positions, not only the energy: within a hundredth of what the step moves from its prediction (RMS).

    What is rough and soft, folds of one edge, takes thousands of rounds, as with L-BFGS; Newton's minimum is unique
    here: `polish` finds it from the prediction and from where 2, 5 and 4000 rounds lead.
    """
    system, frame = moving_frame(small_scene(name))
    minimum = polish(system, frame).q
    solver = make_solver("lattice")
    solver.prepare(system, threads=1, seed=0)
    out = np.zeros((system.n, 4), np.float32)
    solver.solve(rows(frame.s), rows(system.constant(frame)), out, Deadline.of(Budget(iterations=4000)))
    away = np.sqrt(np.mean((out[:, :3] - minimum) ** 2))
    assert away <= 1e-2 * np.sqrt(np.mean((frame.s - minimum) ** 2)) + 1e-6


@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_the_same_bits_on_one_and_two_threads(name):
    found = []
    for threads in (1, 2):
        scene = make_scene(name, resolution=20 if name == "tablecloth" else 4)
        sim = scene.simulate(solver="lattice", budget=Budget(iterations=8), substeps=4, threads=threads)
        for _ in range(20):
            sim.step()
        found.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert found[0] == found[1]


def test_one_round_turns_a_cloth_where_projective_dynamics_hovers():
    """Let go from the horizontal and held at two corners: two rounds a step follow Newton's motion, L-BFGS does not."""
    scene = make_scene("tablecloth", resolution=12)
    sims = {
        solver: scene.simulate(solver=solver, budget=Budget(iterations=count), substeps=4, threads=1)
        for solver, count in (("newton", 20), ("lattice", 8), ("lbfgs(multigrid)", 8))
    }
    for _ in range(15):
        for sim in sims.values():
            sim.step()
    away = {
        name: np.sqrt(((sim.positions - sims["newton"].positions) ** 2).sum(axis=1).mean())
        for name, sim in sims.items()
    }
    assert away["lattice"] < 0.02
    assert away["lbfgs(multigrid)"] > 0.1


# --- several bodies, pins that come and go, harsh settings ------------------------------------------------------------


def test_a_free_body_far_away_does_not_change_anothers_motion():
    """Each has a lattice of its own; products over all of it and other coarse levels change what few rounds leave."""
    sheet = mesh.cloth(12, 12, plane="horizontal")
    two = mesh.join([sheet, sheet.transformed(translate=(40, 10, 0))])
    given = {"solver": "lattice", "budget": Budget(iterations=32), "substeps": 4, "time_step": 0.033, "threads": 1}
    alone = Simulation(Model.of(sheet, Cloth()).pin("top-corners"), **given)
    corners = np.flatnonzero(np.isin(np.arange(two.n_vertices), alone.model.pinned))
    both = Simulation(Model.of(two, Cloth()).pin(corners), **given)
    n = len(sheet.vertices)
    both.velocities = np.r_[np.zeros((n, 3)), np.tile([0.0, 3.0, 1.0], (n, 1))]
    for _ in range(10):
        alone.step()
        both.step()
    assert sum(len(space.parts) for space in both.solver._spaces) == 2
    moved_by = np.abs(alone.positions - sheet.vertices).max()
    assert np.abs(both.positions[:n] - alone.positions).max() < 0.01 * moved_by
    # the free one flies as it must: v = v₀ + N k g, all of it alike
    np.testing.assert_allclose(both.velocities[n:, 1], 3.0 - 9.81 * both.time, atol=2e-3)


def test_every_body_moves_and_stays_whole(body):
    """Ten frames of each: finite, and energy below the start's in the last part of every frame."""
    model, _ = body
    sim = Simulation(model, solver="lattice", budget=Budget(iterations=8), substeps=2, time_step=0.033, threads=2)
    for _ in range(10):
        report = sim.step()
        assert report.finite
        start = sim.system.energy(report.frame.start, report.frame)
        assert report.energy <= start + 1e-6 * abs(start) + 1e-9


def test_two_sheets_at_the_same_place():
    """Each vertex twice, welded in pairs: one lattice for both, and they move as one sheet of twice the stiffness."""
    sheet = mesh.cloth(12, 12, plane="horizontal")
    n = len(sheet.vertices)
    pairs = np.c_[np.arange(n), np.arange(n) + n]
    double = Model.of(mesh.join([sheet, sheet]), Cloth()).constrain("weld", pairs, 1e5).pin([0, 11])
    _, spaces = spaces_of(double)
    assert [len(space.parts) for space in spaces] == [1]
    single = Model.of(sheet, Cloth()).pin([0, 11])
    given = {"solver": "lattice", "budget": Budget(iterations=64), "substeps": 4, "time_step": 0.033, "threads": 1}
    sims = [Simulation(model, **given) for model in (double, single)]
    for _ in range(10):
        assert all(sim.step().finite for sim in sims)
    both, one = (sim.positions for sim in sims)
    assert np.abs(both[:n] - both[n:]).max() < 1e-3
    assert np.abs(both[:n] - one).max() < 0.05 * np.abs(one - sheet.vertices).max()


@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_pins_that_come_and_go(name):
    """Grabbed and let go, one and many, moved between: held within what the pin gives way, and free again after."""
    scene = small_scene(name)
    sim = scene.simulate(solver="lattice", budget=Budget(iterations=16), substeps=4, threads=1)
    free = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)
    rng = np.random.default_rng(0)
    for frame in range(24):
        if frame % 6 == 0:
            held = [int(v) for v in rng.permutation(free)[: 1 + frame // 6]]
            places = sim.positions[held].astype(np.float64)
            sim.grab(held, places)
        if frame % 6 < 4:
            sim.grab(held, places + 0.005 * (frame % 6) * np.array([0.0, 1.0, 0.0]))
        if frame % 6 == 4:
            sim.release()
        assert sim.step().finite
        if frame % 6 == 3:
            target = places + 0.005 * 3 * np.array([0.0, 1.0, 0.0])
            assert np.abs(sim.positions[held] - target).max() < 0.02
    assert sim.grabbed == ()


def kinetic(sim: Simulation) -> float:
    return 0.5 * float(sim.model.masses @ (sim.velocities.astype(np.float64) ** 2).sum(axis=1))


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("h", [1 / 60, 1.0])
@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])
def test_harsh_settings_stay_finite(stiffness, h, iterations):
    """Steps of a second, one iteration, soft and stiff: finite, and never more kinetic energy than in free fall.

    Σ m v²/2 <= Σ m (g t)²/2: pins only take, and gravity has not done more work than on what falls freely.
    """
    model = Model.of(mesh.cloth(12, 12, plane="horizontal"), Cloth(stretch=stiffness)).pin("top-corners")
    sim = Simulation(model, solver="lattice", budget=Budget(iterations=iterations), time_step=h, substeps=1, threads=1)
    for _ in range(30):
        assert sim.step().finite
    assert kinetic(sim) <= 0.5 * sim.model.masses.sum() * (9.81 * sim.time) ** 2
    body = Model.of(mesh.bar(9, 3, 3), Solid(youngs_modulus=10 * stiffness)).pin("left")
    sim = Simulation(body, solver="lattice", budget=Budget(iterations=iterations), time_step=h, substeps=1, threads=1)
    for _ in range(30):
        assert sim.step().finite
    assert kinetic(sim) <= 0.5 * sim.model.masses.sum() * (9.81 * sim.time) ** 2


@pytest.mark.parametrize("cells", [0, 65, 1.5, "many", True])
def test_bad_cells_are_refused(cells):
    with pytest.raises(InputError, match="cells must be a whole number from 1 to 64"):
        make_solver(("lattice", {"cells": cells}))


def test_what_it_cut_back_is_said():
    """More rounds than float32 can use: the last ones find nothing to gain, and the note counts them."""
    scene = small_scene("hanging-cloth")
    sim = scene.simulate(solver="lattice", budget=Budget(iterations=2), substeps=1, threads=1)
    assert sim.step().note == ""
    note = sim.step(Budget(iterations=100)).note
    assert "lattice steps cut back" in note
    assert 0 < int(note.split()[0]) <= 100


def test_a_model_of_constraints_across_the_lattice_is_dense():
    """A spring from end to end couples far slabs: fewer nodes, one matrix, and the step still lowers the energy."""
    model = Model.of(mesh.cloth(40, 8, 4.0, 0.7), Cloth(bend=0.0)).pin([0])
    ends = [[0, model.n - 1], [3, model.n - 5]]
    tied = model.constrain("weld", ends, 1e5)
    _, spaces = spaces_of(tied)
    assert any(part.dense for space in spaces for part in space.parts)
    sim = Simulation(tied, solver="lattice", budget=Budget(iterations=10), time_step=0.01, threads=1)
    for _ in range(5):
        report = sim.step()
        start = sim.system.energy(report.frame.start, report.frame)
        assert report.energy <= start * (1 + 1e-6)


class FakeSteps:
    """In the place of the solver below `lattice`: rounds that take a millisecond each of a clock of our own."""

    def __init__(self, monkeypatch, spare_ms):
        self.asked, self.spare_ms = [], spare_ms
        monkeypatch.setattr(LBFGS, "solve", lambda _, *arrays: self.solve(arrays[-1]))
        monkeypatch.setattr(lattice_module.time, "perf_counter_ns", lambda: 0)

    def solve(self, deadline):
        self.asked.append(deadline.budget.iterations)
        rounds = min(deadline.budget.most_iterations, 9 if self.asked == [None] else 12)
        return Outcome(
            rounds, 0.0, "time" if self.asked == [None] else "iterations", int(deadline.at_ns - self.spare_ms * 1e6)
        )


def touching():
    sheet = mesh.cloth(6, 6).transformed(translate=(0, 0.003, 0))
    model = Model.of(sheet, Cloth(stretch=1e3)).collide([Plane()], itself=False, thickness=0.004)
    solver = make_solver("lattice(multigrid)")
    sim = Simulation(model, solver=solver, budget=Budget(iterations=4), threads=1)
    sim.step()
    assert solver.layout.contacts.touched
    return solver


@pytest.mark.parametrize(("spare_ms", "then"), [(0.5, [9] * 40), (4.0, [9] * 29 + [10] * 11)])
def test_what_touches_has_as_many_rounds_as_before(monkeypatch, spare_ms, then):
    """The first step by the clock; then the same number, and one more when there was time for two for 30 steps."""
    solver, fake = touching(), FakeSteps(monkeypatch, spare_ms)
    for _ in range(41):
        outcome = solver.solve(None, None, None, Deadline(Budget(ms=20.0), 20_000_000))
        assert outcome.stopped == "time"
    assert fake.asked == [None, *then]


def test_a_step_that_walls_do_not_hold_is_not_over(monkeypatch):
    """While a vertex is behind its wall, rounds go on by fours, renewing the forces; not beyond a budget of rounds."""
    solver = touching()
    left = [True, True, False]
    monkeypatch.setattr(type(solver.layout.contacts), "is_deep", lambda _: left.pop(0))
    rows = [np.zeros((36, 4), np.float32) for _ in range(3)]
    assert solver.solve(*rows, Deadline(Budget(ms=1e-6), 0)).sweeps == LEAST_ROUNDS + 8
    assert left == []
    assert solver.solve(*rows, Deadline(Budget(iterations=3), None)).sweeps == 3
