"""Cycles: symmetric, positive, contracting at any size; unusual bodies; set up in the background; when one is wrong."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from solvers.operators import EPS32, contraction, operator_of, prepared, spectrum
from solvers.projective.multigrid_systems import SYSTEMS, body_system, check_galerkin, cloth_system
from solvers.rounding import moving_frame, run
from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, System, UnknownNameError, Wire, mesh
from vivace.mesh import Mesh
from vivace.scenes import Scene, make_scene
from vivace.solvers import make_solver, minimise
from vivace.solvers.projective import multigrid as multigrid_module
from vivace.solvers.projective.hierarchy import COARSENINGS, LARGEST_DENSE, build

# --- the cycle -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coarsening", list(COARSENINGS))
@pytest.mark.parametrize("name", list(SYSTEMS))
def test_a_cycle_is_symmetric_positive_and_contracts(name, coarsening):
    """0 < λ(HY) <= 1, so that the spectral radius of I - HY is below 1; rounding of the largest entry at most."""
    system = SYSTEMS[name]()
    h = operator_of(prepared(f"multigrid:coarsening={coarsening},cycles=1", system))
    assert np.abs(h - h.T).max() <= 8 * EPS32 * np.abs(h).max()
    values = spectrum(h, system)
    assert values[0] > 0.1  # plain aggregation is the weakest
    assert values[-1] <= 1 + 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("name", "resolutions"), [("cloth", (10, 45)), ("body", (5, 13))])
def test_convergence_does_not_depend_on_resolution(name, resolutions):
    """A cycle leaves at most 0.6 of any mode at either size; a forward and a backward sweep leave more and more."""
    cycled, swept = [], []
    for resolution in resolutions:
        system = SYSTEMS[name](resolution)
        solver = prepared("multigrid:cycles=1", system)
        cycled.append(contraction(solver, system))
        swept.append(contraction(prepared("lbfgs(vivace)", system), system, 300))
    assert len(solver.hierarchy.levels) >= 2
    assert max(cycled) < 0.6
    assert swept[1] > swept[0] > 0.8


@pytest.mark.slow
def test_several_cycles_are_powers():
    """I - H₃Y = (I - HY)³; 0 means two where projecting is most of the work, as with tetrahedra, and one elsewhere."""
    system = body_system(5)
    y, one = system.matrix.toarray(), np.eye(system.n)
    single, thrice, auto, twice = (
        operator_of(prepared(f"multigrid:cycles={cycles}", system)) for cycles in (1, 3, 0, 2)
    )
    left = one - single @ y
    np.testing.assert_allclose(one - thrice @ y, left @ left @ left, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(auto, twice)
    assert spectrum(twice, system)[0] > spectrum(single, system)[0]
    system = cloth_system(10)
    first, second = (operator_of(prepared(f"multigrid:cycles={cycles}", system)) for cycles in (0, 1))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_the_cycle_of_changed_pins_is_still_a_good_one(name):
    """Adapted in place it contracts as one that was built for the new pins, which need not be the same."""
    system = SYSTEMS[name]()
    solver = prepared("multigrid:cycles=1", system)
    where = np.setdiff1d(np.arange(0, system.n, 9), system.model.pinned)
    pinned = System(system.model.pin(where), system.h, like=system)
    assert solver.adapt(pinned)
    values = spectrum(operator_of(solver), pinned)
    assert values[0] > 0.3
    assert values[-1] <= 1 + 1e-5
    assert solver.adapt(system)
    back, fresh = operator_of(solver), operator_of(prepared("multigrid:cycles=1", system))
    np.testing.assert_allclose(back, fresh, rtol=0, atol=1e-5 * np.abs(fresh).max())


# --- unusual bodies --------------------------------------------------------------------------------------------------


def two_bodies() -> Mesh:
    sheet = mesh.cloth(9, 9)
    other = sheet.vertices + np.array([0.0, 2.0, 0.0])
    return Mesh.from_triangles(np.vstack([sheet.vertices, other]), np.vstack([sheet.triangles, sheet.triangles + 81]))


def uneven_cloth() -> Model:
    """Stiffness from 1 to 1e5 N/m, at random."""
    sheet = mesh.cloth(12, 12)
    stiffness = 10.0 ** np.random.default_rng(0).uniform(0, 5, len(sheet.edges))
    bare = Model(sheet, Cloth().masses(sheet), (), np.array([0.0, -9.81, 0.0]))
    return bare.constrain("spring", sheet.edges, stiffness).pin("top-corners", stiffness=1e5)


UNUSUAL = {
    "no constraints": lambda: Model(mesh.cloth(12, 12), np.full(144, 0.1), (), np.array([0.0, -9.81, 0.0])),
    "pins only": lambda: Model(mesh.cloth(12, 12), np.full(144, 0.1), (), np.array([0.0, -9.81, 0.0])).pin("top"),
    "one spring": lambda: Model.of(Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0]], [[0, 1]]), Wire()).pin([0]),
    "as many as a dense inverse takes": lambda: Model.of(mesh.cloth(8, 8)).pin("top-corners"),
    "one more than that": lambda: Model.of(mesh.cloth(13, 5)).pin("top-corners"),
    "two bodies": lambda: Model.of(two_bodies(), Cloth(stretch=100.0)).pin([0, 8]),
    "huge mass": lambda: Model.of(mesh.cloth(12, 12), Cloth(density=1e9, stretch=100.0)).pin("top-corners"),
    "nothing held": lambda: Model.of(mesh.cube(5, 0.3), Solid(youngs_modulus=2e4)),
    "uneven": uneven_cloth,
}


def rounding(system, frame) -> float:
    """What float32 positions leave of the energy, ten times over (J)."""
    return 10 * float(system.diagonal @ (2.0**-23 * np.linalg.norm(frame.start, axis=1)) ** 2)


@pytest.mark.parametrize("solver", ["multigrid", "lbfgs(multigrid)"])
@pytest.mark.parametrize("name", list(UNUSUAL))
def test_unusual_bodies_get_finite_steps_that_descend(name, solver):
    model = UNUSUAL[name]()
    sim = Simulation(model, solver=solver, budget=Budget(iterations=5), time_step=1 / 30, threads=1)
    sim.velocities = np.random.default_rng(2).standard_normal((model.n, 3))
    for _ in range(20):
        report = sim.step()
        assert report.finite
        first = sim.system.energy(report.frame.start, report.frame)
        assert report.energy <= first + rounding(sim.system, report.frame)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(UNUSUAL))
def test_on_unusual_bodies_a_cycle_is_worth_an_exact_correction(name):
    """After k of either, what is left to gain is the same within a fifth: alone, and under L-BFGS."""
    model = UNUSUAL[name]()
    sim = Simulation(model, solver="vivace", budget=Budget(iterations=5), time_step=1 / 30, threads=1)
    sim.velocities = np.random.default_rng(2).standard_normal((model.n, 3))
    for _ in range(3):
        frame = sim.step().frame
    system = sim.system
    best = minimise(system, frame, accuracy=1e-10).energy
    for solvers in (("multigrid", "direct"), ("lbfgs(multigrid)", "lbfgs(direct)")):
        cycles, exact = (prepared(name, system) for name in solvers)
        for k in (3, 10):
            left, least = (system.energy(run(solver, system, frame, k), frame) - best for solver in (cycles, exact))
            assert left <= 1.2 * least + rounding(system, frame), (solvers, k)


@pytest.mark.parametrize("h", [1e-6, 1e-4, 1 / 30])
def test_where_nothing_is_strongly_connected_sweeps_do_it(h):
    """PyAMG may return one empty aggregate: a level of zeros must not join the hierarchy."""
    system = System(make_scene("cube", resolution=6).model, h)
    with np.errstate(all="raise"):
        hierarchy = build(system.matrix, np.arange(system.n))
    assert (len(hierarchy.levels) == 0) == (h < 1e-3)
    assert all((level.diagonal > 0).all() for level in hierarchy.levels)
    values = spectrum(operator_of(prepared("multigrid", system)), system)
    assert values[0] > 0.5
    assert values[-1] <= 1 + 1e-5


@pytest.mark.parametrize("n", [1, 2, LARGEST_DENSE])
def test_a_matrix_that_is_small_enough_is_its_own_coarsest(n):
    """A cycle on it is exact."""
    matrix = sp.csr_matrix(sp.diags_array([3.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, -1, 1]))
    hierarchy = build(matrix, np.arange(n)[::-1].copy())
    assert hierarchy.sizes == [n]
    check_galerkin(hierarchy, matrix)
    if n == LARGEST_DENSE:
        system = System(Model.of(mesh.cloth(8, 8)).pin("top-corners"), 1 / 30)
        exact = np.linalg.inv(system.matrix.toarray())
        found = operator_of(prepared("multigrid", system))
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-4 * np.abs(exact).max())


# --- set up in the background ----------------------------------------------------------------------------------------


@pytest.fixture
def gate(monkeypatch):
    """Hierarchies are not finished before the gate is opened."""
    event, plain = threading.Event(), multigrid_module.build

    def slow(*arguments, **options):
        assert event.wait(30)
        return plain(*arguments, **options)

    monkeypatch.setattr(multigrid_module, "build", slow)
    yield event
    event.set()


@pytest.mark.parametrize("solver", ["multigrid:background=True", "lbfgs(multigrid:background=True)"])
def test_steps_before_the_hierarchy_is_there_are_sweeps(gate, solver):
    """They are finite, they descend, and the report says what they are; with the hierarchy nothing is left to say."""
    scene = make_scene("tablecloth", resolution=20)
    sim = scene.simulate(solver=solver, budget=Budget(iterations=4), threads=1)
    plain = scene.simulate(solver=solver.replace("multigrid:background=True", "vivace"), budget=Budget(iterations=4))
    for k in range(3):
        report = sim.step()
        assert report.finite
        assert report.note.startswith("sweeps only: the hierarchy is being built (")
        assert report.energy < sim.system.energy(report.frame.start, report.frame)
        if solver.startswith("lbfgs") and k == 0:
            assert report.energy == pytest.approx(plain.step().energy, rel=0.2)  # another colouring
    gate.set()
    sim.prepare(wait=True)
    swept, cycled = report.energy, sim.step()
    assert cycled.note == ""
    assert cycled.energy < swept or cycled.residual < report.residual


@pytest.mark.slow
def test_with_the_hierarchy_there_the_results_are_those_of_the_foreground(gate):
    """Waited for before the first step, or half-way with the states set equal: the same bits."""
    scene = make_scene("tablecloth", resolution=20)
    budget = Budget(iterations=4)
    late = scene.simulate(solver="lbfgs(multigrid:background=True)", budget=budget, threads=1)
    late.step()
    gate.set()
    ready, front = (
        scene.simulate(solver=name, budget=budget, threads=1)
        for name in ("lbfgs(multigrid:background=True)", "lbfgs(multigrid)")
    )
    ready.prepare(wait=True)
    for _ in range(3):
        ready.step()
        front.step()
    np.testing.assert_array_equal(ready.positions, front.positions)
    late.prepare(wait=True)
    late.positions, late.velocities = front.positions, front.velocities
    late.step()
    front.step()
    np.testing.assert_array_equal(late.positions, front.positions)


def test_pins_may_change_while_the_hierarchy_is_being_built(gate):
    scene = make_scene("tablecloth", resolution=20)
    sim = scene.simulate(solver="multigrid:background=True", budget=Budget(iterations=2), threads=1)
    sim.step()
    sim.model = sim.model.pin([210])
    assert "being built" in sim.step().note
    gate.set()
    sim.prepare(wait=True)
    assert sim.step().note == ""
    check_galerkin(sim.solver.hierarchy, sim.system.matrix)


def test_an_error_in_the_background_is_raised_by_the_next_step(monkeypatch):
    def broken(*arguments, **options):
        raise InputError("no hierarchy today")

    monkeypatch.setattr(multigrid_module, "build", broken)
    sim = make_scene("tablecloth", resolution=20).simulate(solver="multigrid:background=True", threads=1)

    def begin():
        sim.prepare(wait=True)  # or here, if it comes this early
        sim.step(Budget(iterations=1))

    with pytest.raises(InputError, match="no hierarchy today"):
        begin()


# --- when a cycle is wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [-10.0, 30.0, np.nan])
@pytest.mark.parametrize("solver", ["multigrid", "lbfgs(multigrid)"])
def test_a_cycle_that_raises_the_energy_is_left_out(solver, factor):
    """A coarse inverse that is wrong: the step is taken back, the rest are sweeps, and the report says so."""
    scene = make_scene("tablecloth", resolution=20)
    sim = scene.simulate(solver=solver, budget=Budget(iterations=12), threads=1)
    sim.prepare()
    hierarchy = sim.solver.corrector.hierarchy
    good = hierarchy.dense.copy()
    for _ in range(4):
        hierarchy.dense[:] = factor * good
        report = sim.step()
        assert "a V-cycle raised the energy: sweeps only for the rest of the step" in report.note
        assert report.finite
        assert report.energy < sim.system.energy(report.frame.start, report.frame)
    hierarchy.dense[:] = good
    assert "V-cycle" not in sim.step().note  # every step tries anew


# --- reproducible ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["multigrid", "lbfgs(multigrid:cycles=2)"])
def test_threads_do_not_change_a_bit_while_pins_change(solver):
    scene = make_scene("tablecloth", resolution=40)
    found = []
    for threads in (1, 2):
        sim = scene.simulate(solver=solver, budget=Budget(iterations=3), threads=threads)
        for k in range(6):
            sim.step()
            sim.model = scene.model.pin([500 + 30 * k])
        found.append(sim.positions.tobytes())
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("coarsening", list(COARSENINGS))
def test_cycles_alone_reach_the_minimum(coarsening):
    """Of a step of cloth in mid-motion, to a thousandth of what there is to gain."""
    scene = Scene("cloth", Model.of(mesh.cloth(12, 12), Cloth(stretch=50.0, bend=1e-3)).pin("top-corners"), 1 / 30)
    system, frame = moving_frame(scene)
    reference = minimise(system, frame, accuracy=1e-10)
    q = run(prepared(f"multigrid:coarsening={coarsening}", system), system, frame, 250)
    gained = system.energy(frame.start, frame) - reference.energy
    assert system.energy(q, frame) - reference.energy <= 1e-3 * gained


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("multigrid:coarsening=smooth", UnknownNameError, r"unknown coarsening 'smooth'; did you mean 'smoothed'"),
        ("multigrid:cycles=11", InputError, r"cycles must be a whole number from 0 to 10, not 11"),
        ("multigrid:cycles=1.5", InputError, r"cycles must be a whole number from 0 to 10, not 1.5"),
        ("multigrid:colouring_algorithm=gredy", UnknownNameError, r"unknown colouring 'gredy'; did you mean 'greedy'"),
        ("multigrid:levels=3", InputError, r"solver 'multigrid' has no option 'levels'; its options: background, c"),
    ],
)
def test_bad_options_say_what_is_wrong(what, error, message):
    with pytest.raises(error, match=message):
        make_solver(what)
