"""Position based solvers: what they conserve, where they converge to, what their options do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Jelly, Model, Simulation, Wire, mesh
from vivace.colouring import is_valid_constraint_colouring
from vivace.constraints import make_group
from vivace.mesh import Mesh
from vivace.solvers import Deadline, make_solver
from vivace.solvers.pbd_coloured import PbdColoured
from vivace.system import project, values

from .rounding import U, measure

SOLVERS = ["pbd", "pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi", "pbd-vivace"]
CONSERVING = ["pbd", "pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi:alpha=0.1"]
KINDS = [
    *("spring", "hinge", "curved-hinge", "volume", "dihedral", "tet-strain", "tet-volume", "weld", "attachment"),
]
H = 1 / 30


def step(model, solver, iterations, *, positions=None, velocities=None, **options):
    """One step from a given state: the simulation and its report."""
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1, **options)
    if positions is not None:
        sim.positions = positions
    if velocities is not None:
        sim.velocities = velocities
    return sim, sim.step()


def rope(springs, *, length=1.0, stiffness=20.0, density=1.0, **options) -> Model:
    """A rope that hangs down from the origin: `stiffness` EA (N), so that each of its springs has EA/l."""
    points = np.zeros((springs + 1, 3))
    points[:, 1] = -length * np.arange(springs + 1) / springs
    edges = np.stack([np.arange(springs), np.arange(1, springs + 1)], axis=1)
    return Model.of(
        Mesh.from_edges(points, edges), Wire(density=density, stretch=stiffness * springs / length), **options
    )


# --- conservation -----------------------------------------------------------------------------------------------------


def of_kind(name, seed=0) -> Model:
    """A body held together by one kind of constraint alone, with masses from 0.1 to 10, without gravity."""
    rng = np.random.default_rng(seed)
    if name in ("volume", "tet-strain", "tet-volume"):
        body = mesh.cube(3)
        tables = body.tets
    else:
        flat = mesh.cloth(5, 4, irregular=True)
        rest = flat.vertices.copy()
        if name in ("curved-hinge", "dihedral"):
            rest[:, 1] = 0.2 * np.sin(4 * rest[:, 0])
        body = Mesh.from_triangles(rest, flat.triangles)
        tables = body.edges if name in ("spring", "weld") else body.hinges
    group = make_group(name, body.vertices, tables, rng.uniform(10, 100, len(tables)))
    return Model(body, np.exp(rng.uniform(np.log(0.1), np.log(10), body.n_vertices)), (group,), np.zeros(3))


def gradients(group, q):
    """∇C of every constraint, (m, k, 3), in float64."""
    if group.kind.evaluate is not None:
        return values(group, q)[1]
    z = measure(group, q)
    p = project(group, z.reshape(-1, 3)).reshape(z.shape) if group.kind.project is not None else np.zeros_like(z)
    size = np.sqrt(((z - p) ** 2).sum(axis=(1, 2)))
    return np.einsum("mrk,mrc->mkc", group.operator, z - p) / size[:, None, None]


@pytest.mark.parametrize("name", KINDS)
def test_corrections_of_a_constraint_conserve_both_momenta(name):
    """Δx_k = w_k Δλ ∇_k C: Σ m Δx = Δλ Σ ∇_k C = 0 and Σ m x × Δx = Δλ Σ x_k × ∇_k C = 0, in float64."""
    model = of_kind(name)
    group = model.groups[0]
    q = model.mesh.vertices + 0.1 * np.random.default_rng(1).normal(size=(model.n, 3))
    slopes, x = gradients(group, q), q[group.vertices]
    size = np.abs(slopes).sum(axis=(1, 2))
    reach = np.maximum(size, np.abs(group.operator).sum(axis=(1, 2)) if group.kind.rows else size)
    assert (size > 0).all()
    assert (np.abs(slopes.sum(axis=1)).max(axis=1) <= 1e-13 * reach).all()
    assert (np.abs(np.cross(x, slopes).sum(axis=1)).max(axis=1) <= 1e-11 * reach).all()


def momentum_lost(model, solver, iterations=10):
    """|Σ m (v' - v)|, and what float32 can do to it: each visit of a vertex rounds its position, and Δx."""
    rng = np.random.default_rng(2)
    positions = model.mesh.vertices + 0.1 * rng.normal(size=(model.n, 3))
    velocities = rng.normal(size=(model.n, 3))
    sim, report = step(model, solver, iterations, positions=positions, velocities=velocities)
    before = model.masses @ velocities.astype(np.float32).astype(np.float64)
    after = model.masses @ sim.velocities.astype(np.float64)
    visits = iterations * np.bincount(model.groups[0].vertices.ravel(), minlength=model.n) + 2
    assert report.finite
    assert np.abs(sim.velocities - velocities).max() > 0.1  # the constraints have done something
    return np.abs(after - before).max(), 4 * U * np.abs(positions).max() * float(model.masses @ visits) / H


@pytest.mark.parametrize("solver", CONSERVING)
@pytest.mark.parametrize("name", KINDS)
def test_steps_conserve_linear_momentum(name, solver):
    """Σ m v is the same after a step, whatever the masses."""
    lost, rounding = momentum_lost(of_kind(name), solver)
    assert lost <= rounding


@pytest.mark.parametrize("solver", ["pbd-jacobi", "pbd-vivace"])
def test_corrections_that_are_averaged_do_not_conserve_it(solver):
    """A vertex of 3 constraints takes a third of each, one of 6 a sixth: what one end gains the other does not lose."""
    lost, rounding = momentum_lost(of_kind("spring"), solver)
    assert lost > 3 * rounding


# --- one constraint, one iteration ------------------------------------------------------------------------------------


def stretched_pair(masses, stiffness=100.0):
    """A spring of 1 m, stretched to 1.4 m."""
    model = Model.of(Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]]), Wire(stretch=stiffness))
    model = replace(model, masses=np.array(masses), gravity=np.zeros(3))
    return model, np.array([[0.0, 0, 0], [1.4, 0, 0]])


def with_options(solver, **options):
    """A solver's name with more options."""
    more = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{solver}{',' if ':' in solver else ':'}{more}"


@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-jacobi:alpha=1.0"])
@pytest.mark.parametrize("kappa", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.0, 3.0), (0.01, 20.0)])
def test_stiffness_moves_each_end_by_its_share(masses, kappa, solver):
    """Δx_k = -κ w_k/(w_0 + w_1) C ∇_k C [fratarcangeli2013, Eq. 6]: halves for equal masses; to a few roundings."""
    model, q = stretched_pair(masses)
    sim, report = step(model, with_options(solver, stiffness=kappa), 1, positions=q)
    w = 1 / np.array(masses)
    np.testing.assert_allclose(sim.positions[:, 0], q[:, 0] + kappa * 0.4 * w * [1, -1] / w.sum(), atol=8 * U * 1.4)
    np.testing.assert_array_equal(sim.positions[:, 1:], 0)
    assert report.residual == pytest.approx(0.4, abs=4 * U * 1.4)


@pytest.mark.parametrize("kappa", [0.5, 1.0])
def test_vertex_by_vertex_the_second_sees_what_the_first_has_left(kappa):
    """pbd-vivace: the first end moves by κ C w_0/W, and then the second by its share of the rest."""
    model, q = stretched_pair((1.0, 3.0))
    sim, _ = step(model, with_options("pbd-vivace:plain=True", stiffness=kappa), 1, positions=q)
    shares, signs = np.array([0.75, 0.25]), np.array([1.0, -1.0])
    first, second = np.argsort(sim.colouring.colours)
    expected, left = q[:, 0].copy(), 0.4
    for end in (first, second):
        expected[end] += signs[end] * kappa * left * shares[end]
        left -= kappa * left * shares[end]
    np.testing.assert_allclose(sim.positions[:, 0], expected, atol=8 * U * 1.4)


@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-jacobi:alpha=1.0"])
@pytest.mark.parametrize("stiffness", [1.0, 100.0, 1e6])
def test_compliance_solves_one_spring_at_once(stiffness, solver):
    """Δλ = -C/(w_0 + w_1 + α), α = 1/(k h²): implicit Euler's own solution, in one iteration; more change nothing."""
    model, q = stretched_pair((1.0, 3.0), stiffness)
    w, alpha = np.array([1.0, 1 / 3]), 1 / (stiffness * H**2)
    expected = q[:, 0] + 0.4 * w * [1, -1] / (w.sum() + alpha)
    for iterations in (1, 10):
        sim, _ = step(model, solver, iterations, positions=q)
        np.testing.assert_allclose(sim.positions[:, 0], expected, atol=16 * U * 1.4)


def test_bending_has_a_stiffness_of_its_own():
    """bend=0 leaves hinges out: the bits of a cloth without them; bend=None is the same as stiffness."""
    sheet = mesh.cloth(5, 5)
    whole, without = Model.of(sheet, Cloth()), Model.of(sheet, Cloth(bend=0.0))
    q = sheet.vertices + 0.05 * np.random.default_rng(0).normal(size=(25, 3))

    def positions(model, solver):
        return step(model, solver, 5, positions=q)[0].positions

    np.testing.assert_array_equal(positions(whole, "pbd:stiffness=0.5,bend=0"), positions(without, "pbd:stiffness=0.5"))
    np.testing.assert_array_equal(positions(whole, "pbd:stiffness=0.5,bend=0.5"), positions(whole, "pbd:stiffness=0.5"))
    assert (positions(whole, "pbd:stiffness=0.5") != positions(without, "pbd:stiffness=0.5")).any()


def test_constraints_without_stiffness_are_left_out():
    """The bits of the model without them."""
    sheet = mesh.cloth(4, 4)
    base = Model.of(sheet, Cloth(bend=0.0))
    stiffness = np.where(np.arange(len(sheet.hinges)) % 2, 0.0, 0.01)
    some = base.constrain("hinge", sheet.hinges, stiffness)
    fewer = base.constrain("hinge", sheet.hinges[stiffness > 0], 0.01)
    q = sheet.vertices + 0.05 * np.random.default_rng(0).normal(size=(16, 3))
    for solver in SOLVERS:
        results = [step(model, solver, 4, positions=q)[0].positions for model in (some, fewer)]
        if solver == "pbd-vivace":  # its colouring depends on the graph, which is the same
            np.testing.assert_allclose(*results, atol=1e-6)
        else:
            np.testing.assert_array_equal(*results)


# --- where they converge to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_compliance_leads_to_the_minimum_where_gradients_do_not_turn(solver):
    """A rope in its own line: ∇C is constant, so λ of the iterations is that of the minimum of ε.

    The error falls by a factor of ten at least from 1 to 10 to 100 iterations, to what float32 leaves: the energy of
    positions that are rounded, (u |q|)² Σ Y_ii/2, is below 1e-11 of what there was to gain.
    """
    model = rope(10, stiffness=20.0, gravity=(0, 0, 0))
    velocities = np.zeros((model.n, 3))
    velocities[:, 1] = np.random.default_rng(0).normal(size=model.n)
    errors = [step(model, solver, k, velocities=velocities)[1].relative_error for k in (1, 10, 100, 400)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[3] < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_compliance_leads_near_the_minimum_where_they_do(solver):
    """λ is the sum of steps along gradients that turn on the way: not quite that of the last gradient [macklin2016,
    section 4.1, drops the same terms]. On a cloth that is deformed by a tenth of its edges, 3e-4 of the error is left.
    """
    sheet = mesh.cloth(6, 6)
    model = Model.of(sheet, Cloth(stretch=50.0, bend=1e-3))
    q = sheet.vertices + 0.02 * np.random.default_rng(1).normal(size=sheet.vertices.shape)
    errors = [step(model, solver, k, positions=q)[1].relative_error for k in (1, 10, 1000)]
    assert errors[0] > 3 * errors[1] > 3 * errors[2]
    assert errors[2] < 3e-4


def test_what_is_left_vanishes_with_the_turn_of_the_gradients():
    """Springs whose directions turn by half as much leave less than half of the relative error."""
    sheet = mesh.cloth(6, 6)
    model = Model.of(sheet, Cloth(stretch=50.0, bend=0.0))
    noise = np.random.default_rng(1).normal(size=sheet.vertices.shape)
    errors = [
        step(model, "pbd", 500, positions=sheet.vertices + d * noise)[1].relative_error for d in (0.04, 0.02, 0.01)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def hanging(solver, springs, iterations):
    """How much longer than at rest a rope is that hangs from its end, after 10 s."""
    model = rope(springs, stiffness=20.0, air=3.0).pin([0])
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1)
    for _ in range(300):
        sim.step()
    assert np.abs(sim.velocities).max() < 1e-3
    assert (sim.positions[0] == 0).all()
    return -float(sim.positions[-1, 1]) - 1.0


@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-vivace"])
def test_compliance_depends_on_neither_iterations_nor_resolution(solver):
    """A rope of weight ρ g L stretches by ρ g L²/(2 EA), whatever its springs; each has (weight below) / (EA/l)."""
    expected = 1.0 * 9.81 / (2 * 20.0)
    for springs, iterations in ((5, 30), (5, 120), (10, 60), (20, 200)):
        assert hanging(solver, springs, iterations) == pytest.approx(expected, rel=1e-3)


def test_stiffness_depends_on_both():
    """κ = 0.5: more iterations are a stiffer rope, more springs a softer one."""
    few, many = hanging("pbd:stiffness=0.5", 10, 5), hanging("pbd:stiffness=0.5", 10, 40)
    assert few > 3 * many
    assert hanging("pbd:stiffness=0.5", 20, 5) > 1.5 * few


def test_the_springs_of_a_rope_carry_what_hangs_below():
    """k (|x_i - x_(i+1)| - l) = g Σ_(j>i) m_j for every spring."""
    model = rope(8, stiffness=20.0, air=3.0).pin([0])
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=100), time_step=H, threads=1)
    for _ in range(300):
        sim.step()
    tension = model.groups[0].weights * (-np.diff(sim.positions[:, 1].astype(float)) - 1 / 8)
    below = 9.81 * (model.masses.sum() - np.cumsum(model.masses)[:-1])
    np.testing.assert_allclose(tension, below, rtol=2e-3)


# --- the same whatever the threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*SOLVERS, "pbd-jacobi:alpha=0.1", "chebyshev(pbd-jacobi)"])
def test_threads_do_not_change_a_bit(solver):
    """Positions, velocities, and where a tolerance stops: colours of some 500 constraints have chunks."""
    sheet = mesh.cloth(34, 34)
    model = Model.of(sheet, Cloth(stretch=1e3, bend=1e-4)).pin("top-corners")
    outcomes, residuals = [], []
    for threads in (1, 2, 3):
        sim = Simulation(model, solver=solver, budget=Budget(iterations=3), time_step=H, threads=threads)
        for _ in range(6):
            report = sim.step()
        stop = sim.step(Budget(tolerance=0.5, iterations=40))
        outcomes.append((sim.positions.tobytes() + sim.velocities.tobytes(), stop.sweeps))
        residuals.append((report.residual, stop.residual))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert residuals[0] == residuals[1] == residuals[2]


@dataclass(eq=False)
class Backwards(PbdColoured):
    """Constraints of a colour in the opposite order."""

    def arrange(self, groups, system):
        arranged = super().arrange(groups, system)
        orders = []
        for order, pointers in arranged:
            parts = [order[a:b][::-1] for a, b in pairwise(pointers)]
            orders.append((np.concatenate(parts) if parts else order, pointers))
        return orders


@pytest.mark.parametrize("together", [False, True])
def test_the_order_within_a_colour_does_not_matter(together):
    """Constraints of a colour share no vertex: any order gives the same, but for the roundings of those that are solved
    four at a time and those that are left over: a few units over 20 iterations. A conflict would be much more.
    """
    sheet = mesh.cloth(12, 12)
    model = Model.of(sheet, Cloth()).pin("top-corners")
    results = []
    for kind in (PbdColoured, Backwards):
        sim = Simulation(model, solver=kind(together=together), budget=Budget(iterations=4), threads=1)
        for _ in range(5):
            sim.step()
        results.append(sim.positions)
    np.testing.assert_allclose(*results, rtol=0, atol=20 * 4 * U)


# --- stability --------------------------------------------------------------------------------------------------------

BODIES = {
    "cloth": lambda: Model.of(mesh.cloth(10, 10), Cloth()).pin("top-corners"),
    "bent cloth": lambda: Model.of(mesh.cloth(10, 10), Cloth(bend=1e-2, bending="dihedral")).pin("top-corners"),
    "jelly": lambda: Model.of(mesh.cube(4, side=0.5), Jelly()).pin([0, 1, 2]),
}


@pytest.mark.parametrize("solver", [*SOLVERS, "pbd-jacobi:alpha=0.045", "chebyshev(pbd-jacobi)"])
@pytest.mark.parametrize("body", list(BODIES))
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_a_hundred_frames_stay_finite(body, solver, iterations):
    """However few the iterations: finite, and within a few lengths of the body of where it hangs.

    One Jacobi iteration takes back little of a fall, so such a body sags on and on; but never farther than free fall.
    """
    model = BODIES[body]()
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1)
    for _ in range(100):
        report = sim.step()
    assert report.finite
    fallen = 0.5 * 9.81 * (101 * H) ** 2
    assert np.abs(sim.positions).max() < (fallen if "jacobi" in solver else 10.0)


def test_the_plain_sum_of_corrections_diverges_in_a_solid():
    """The paper's own form: a vertex that moves by the sum of corrections that agree overshoots by more than 2."""
    model = BODIES["jelly"]()
    sim = Simulation(model, solver="pbd-vivace:plain=True,omega=1.0", budget=Budget(iterations=10), threads=1)
    largest = 0.0
    for _ in range(30):
        sim.step()
        with np.errstate(invalid="ignore"):
            largest = max(largest, float(np.abs(sim.positions).max())) if np.isfinite(sim.positions).all() else np.inf
    assert largest > 100


# --- acceleration -----------------------------------------------------------------------------------------------------


def frozen_violation(solver, iterations):
    """Root of Σ C² after some iterations from one deformed state of a cloth, its inextensible springs alone."""
    sheet = mesh.cloth(16, 16)
    model = Model.of(sheet, Cloth(bend=0.0)).pin("top")
    q = sheet.vertices.copy()
    q[:, 2] *= 1.1
    return step(replace(model, gravity=np.zeros(3)), solver, iterations, positions=q)[1].residual


def test_chebyshev_gets_farther_than_jacobi():
    """After 60 iterations the violation is half of Jacobi's with ρ given, and two thirds with ρ left to the solver."""
    plain = frozen_violation("pbd-jacobi:stiffness=1.0", 60)
    assert plain < frozen_violation("pbd-jacobi:stiffness=1.0", 10)
    assert frozen_violation("chebyshev(pbd-jacobi):rho=0.98", 60) < 0.5 * plain
    assert frozen_violation("chebyshev(pbd-jacobi)", 60) < 0.67 * plain


@pytest.mark.parametrize("alpha", [0.25, 0.3])
def test_the_courses_relaxation_works_on_cloth(alpha):
    """α Σ Δx [fratarcangeli2018, Eq. 27], 0.3 for triangles: alone and under Chebyshev's method, 50 frames."""
    model = Model.of(mesh.cloth(10, 10), Cloth(bend=0.0)).pin("top-corners")
    for solver in (f"pbd-jacobi:alpha={alpha},stiffness=1.0", f"chebyshev(pbd-jacobi:alpha={alpha}):rho=0.9"):
        sim = Simulation(model, solver=solver, budget=Budget(iterations=10), time_step=H, threads=1)
        for _ in range(50):
            assert sim.step().finite
        assert np.abs(sim.positions).max() < 2.0


def test_chebyshev_takes_constraints_without_compliance():
    """λ is no part of what is accelerated, so κ = 1, unless a stiffness is given."""
    assert make_solver("chebyshev(pbd-jacobi)").positional.stiffness == 1.0
    assert make_solver("chebyshev(pbd-jacobi:stiffness=0.5)").positional.stiffness == 0.5
    assert make_solver("chebyshev(pbd-jacobi)").name == "chebyshev(pbd-jacobi)"
    with pytest.raises(InputError, match="chebyshev accelerates solvers that make linear corrections"):
        make_solver("chebyshev(pbd)")


# --- budgets, notes, options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*SOLVERS, "chebyshev(pbd-jacobi)"])
def test_a_tolerance_stops_when_the_violation_has_fallen(solver):
    """Stops at the first iteration that meets tolerance x the violation of the first: fewer iterations for a larger."""
    sheet = mesh.cloth(8, 8)
    model = replace(Model.of(sheet, Cloth(bend=0.0)), gravity=np.zeros(3))
    q = sheet.vertices + 0.02 * np.random.default_rng(0).normal(size=sheet.vertices.shape)
    name = solver if "chebyshev" in solver else with_options(solver, stiffness=1.0)
    first = step(model, name, 1, positions=q)[1].residual
    sweeps = []
    for tolerance in (0.5, 0.1):
        sim = Simulation(model, solver=name, budget=Budget(tolerance=tolerance, iterations=500), time_step=H, threads=1)
        sim.positions = q
        report = sim.step()
        assert report.stopped == "tolerance"
        assert report.residual <= tolerance * first * (1 + 1e-12)
        assert step(model, name, report.sweeps - 1, positions=q)[1].residual > tolerance * first
        sweeps.append(report.sweeps)
    assert 1 < sweeps[0] < sweeps[1] < 500


def test_a_budget_of_iterations_or_time_stops_too():
    model = BODIES["cloth"]()
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=7), threads=1)
    report = sim.step()
    assert (report.sweeps, report.stopped) == (7, "iterations")
    report = sim.step(Budget(ms=2.0))
    assert report.stopped == "time"
    assert report.sweeps >= 1
    report = sim.step(Budget(tolerance=1e-6, iterations=3))  # with compliance, C does not vanish
    assert (report.sweeps, report.stopped) == (3, "iterations")


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_is_the_violation_that_the_last_iteration_met(solver):
    """√Σ C² at the first guess, for one iteration; Gauss-Seidel meets constraints that others have moved: a factor."""
    sheet = mesh.cloth(6, 6)
    model = replace(Model.of(sheet, Cloth(bend=0.0)), gravity=np.zeros(3))
    q = (sheet.vertices + 0.01 * np.random.default_rng(0).normal(size=sheet.vertices.shape)).astype(np.float32)
    group = model.groups[0]
    ends = q[group.vertices].astype(float)
    c = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) - group.parameters[:, 0].astype(np.float32)
    residual = step(model, with_options(solver, stiffness=1.0), 1, positions=q)[1].residual
    if "jacobi" in solver:
        assert residual == pytest.approx(np.linalg.norm(c), rel=1e-5)
    assert 0.4 * np.linalg.norm(c) < residual < 2.5 * np.linalg.norm(c)


def test_viscosity_is_left_out_and_said_so():
    model = Model.of(mesh.cloth(4, 4), viscosity=0.01)
    for solver in [*SOLVERS, "chebyshev(pbd-jacobi)"]:
        assert "viscosity is not part of position based dynamics" in step(model, solver, 2)[1].note
    assert step(replace(model, viscosity=0.0), "pbd", 2)[1].note == ""


def test_air_slows_as_in_projective_dynamics():
    """Free flight: v_(n+1) = (v_n + h g)/(1 + air h), to rounding."""
    model = rope(4, air=2.0)
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=5), time_step=H, threads=1)
    v = 0.0
    for _ in range(10):
        sim.step()
        v = (v - 9.81 * H) / (1 + 2.0 * H)
        np.testing.assert_allclose(sim.velocities[:, 1], v, atol=20 * U * 2 / H)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("pbd:stiffness=1.5", "stiffness must lie in 0 to 1, or be None.*1.5"),
        ("pbd:stiffness=-0.1", "stiffness must lie in 0 to 1"),
        ("pbd:stiffness=hard", "stiffness must lie in 0 to 1.*'hard'"),
        ("pbd:stiffness=0.5,bend=2", "bend must lie in 0 to 1.*2"),
        ("pbd:bend=0.5", "bend needs stiffness"),
        ("pbd:omega=1", "solver 'pbd' has no option 'omega'; its options: bend, stiffness"),
        ("pbd-coloured:smallest=-1", "smallest must be a whole number of constraints, zero or more, not -1"),
        ("pbd-coloured:largest=1.5", "largest must be a whole number of constraints"),
        ("pbd-coloured:colouring_algorithm=greddy", "unknown colouring 'greddy'; did you mean 'greedy'"),
        ("pbd-jacobi:omega=2", "omega must lie between 0 and 2, not 2"),
        ("pbd-jacobi:omega=0", "omega must lie between 0 and 2, not 0"),
        ("pbd-jacobi:alpha=0", "alpha must lie in .0, 1., or be None to average, not 0"),
        ("pbd-jacobi:alpha=1.1", "alpha must lie in"),
        ("pbd-vivace:omega=2", "omega must lie between 0 and 2, not 2"),
        ("pbd-vivace:colouring_algorithm=x", "unknown colouring 'x'"),
        ("pbd-colored", "unknown solver 'pbd-colored'; did you mean 'pbd-coloured'"),
        ("chebyshev(pbd-jacobi):rho=1.0", "rho must be 'auto' or lie in"),
    ],
)
def test_options_are_checked(solver, message):
    with pytest.raises(InputError, match=message):
        make_solver(solver)


def test_what_float32_cannot_hold_is_refused():
    sheet = mesh.cloth(3, 3)
    with pytest.raises(InputError, match="stiffness of 'spring' is too small for float32"):
        step(Model.of(sheet, Cloth(stretch=1e-40)), "pbd", 1)
    with pytest.raises(InputError, match=r"a mass of 1e-40 kg \(9 such vertices\); .* so that float32 holds it"):
        replace(Model.of(sheet), masses=np.full(9, 1e-40))


def test_an_unprepared_solver_says_so():
    rows = np.zeros((3, 4), np.float32)
    for name in SOLVERS:
        with pytest.raises(InputError, match="has not been prepared"):
            make_solver(name).solve(rows, rows, rows.copy(), Deadline.of(Budget(iterations=1)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_model_without_constraints_flies(solver):
    """s = q + h v + h² g, to the bit."""
    model = replace(Model.of(mesh.cloth(3, 3)), groups=())
    sim, report = step(model, solver, 3)
    np.testing.assert_array_equal(sim.positions, report.frame.s.astype(np.float32))
    assert report.residual == 0


# --- colours ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("options", [{}, {"smallest": 20}, {"largest": 12}, {"smallest": 20, "largest": 40}])
@pytest.mark.parametrize("algorithm", ["greedy-smallest-last", "brooks-vizing"])
def test_colours_are_valid_whatever_the_options(together, options, algorithm):
    """No two constraints of a colour share a vertex; `colours` counts them all; `largest` is kept."""
    model = Model.of(mesh.cube(4, side=0.5), Jelly(bend=1.0)).pin([0])
    solver = PbdColoured(together=together, colouring_algorithm=algorithm, **options)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=3), threads=1)
    for _ in range(5):
        report = sim.step()
    assert report.finite
    groups = [group for group in model.groups if group.kind.name != "pin"]
    names = ["all"] if together else [group.kind.name for group in groups]
    assert list(solver.colourings) == names
    tables = [[group.vertices for group in groups]] if together else [[group.vertices] for group in groups]
    for colouring, table in zip(solver.colourings.values(), tables, strict=True):
        assert is_valid_constraint_colouring(table, model.n, colouring.colours)
        if "largest" in options:
            assert colouring.largest <= options["largest"]
    assert report.colours == solver.colours == sum(c.count for c in solver.colourings.values())


def test_coloured_together_takes_fewer_phases_than_apart():
    """Types that share few vertices share colours."""
    model = Model.of(mesh.cloth(10, 10), Cloth())
    apart, together = (step(model, f"pbd-coloured:together={value}", 1)[1].colours for value in (False, True))
    assert together < apart
    assert step(model, "pbd", 1)[1].colours is None


def test_two_groups_of_a_type_have_colours_of_their_own():
    sheet = mesh.cloth(4, 4)
    model = Model.of(sheet, Cloth(bend=0.0)).constrain("spring", [[0, 15]], 10.0)
    sim, _ = step(model, "pbd-coloured", 1)
    assert list(sim.solver.colourings) == ["spring", "spring'"]


# --- velocity and Verlet ----------------------------------------------------------------------------------------------


def test_both_forms_give_the_same_motion():
    """x + (x - x_before) + h² a is x + h v + h² a: one step agrees to rounding, twenty to what grows of it."""
    model = BODIES["cloth"]()
    v = np.random.default_rng(0).normal(size=(model.n, 3))
    one = [step(model, "pbd-coloured", 5, velocities=v, form=form)[0] for form in ("velocity", "verlet")]
    np.testing.assert_allclose(one[0].positions, one[1].positions, atol=64 * U)
    np.testing.assert_allclose(one[0].velocities, one[1].velocities, atol=64 * U / H)
    for sim in one:
        for _ in range(20):
            sim.step()
    np.testing.assert_allclose(one[0].positions, one[1].positions, atol=1e-3)


@pytest.mark.parametrize("form", ["velocity", "verlet"])
def test_velocities_are_read_as_written(form):
    """Verlet's form keeps v h: what is read back is v to two roundings. Free fall then adds h g."""
    model = replace(rope(4), groups=())
    sim = Simulation(model, solver="pbd", budget=Budget(iterations=1), time_step=H, threads=1, form=form)
    v = np.random.default_rng(0).normal(size=(model.n, 3))
    sim.velocities = v
    np.testing.assert_allclose(sim.velocities, v, rtol=4 * U)
    sim.step()
    np.testing.assert_allclose(sim.velocities, v + np.array([0, -9.81 * H, 0]), atol=8 * U * 2 / H)
    np.testing.assert_allclose(sim.positions, model.mesh.vertices + H * v - [0, 9.81 * H**2, 0], atol=8 * U)


@pytest.mark.parametrize("solver", ["pbd-coloured", "vivace"])
def test_verlet_works_with_every_kind_of_solver(solver):
    model = BODIES["cloth"]()
    sims = [
        Simulation(model, solver=solver, budget=Budget(iterations=10), time_step=H, threads=1, form=form)
        for form in ("velocity", "verlet")
    ]
    for _ in range(3):
        for sim in sims:
            sim.step()
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=1e-5)


def test_an_unknown_form_is_refused():
    with pytest.raises(InputError, match="unknown form 'verlett'; did you mean 'verlet'"):
        Simulation(BODIES["cloth"](), form="verlett")
