"""Chebyshev acceleration: how it is named, what an estimate ρ does, who finds it, and what happens when it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval

from solvers.operators import prepared
from solvers.rounding import moving_frame, run, small_scene
from vivace import Budget, InputError, Model, UnknownNameError, mesh
from vivace.scenes import Scene, make_scene
from vivace.solvers import make_solver
from vivace.solvers.projective.chebyshev import Chebyshev
from vivace.solvers.projective.tuning import tuned_rho

# --- names -----------------------------------------------------------------------------------------------------------


def test_a_name_says_what_is_inside_and_both_have_options():
    solver = make_solver("chebyshev(jacobi:omega=0.9):rho=0.99,delay=3")
    assert (solver.name, solver.rho, solver.delay, solver.gamma) == ("chebyshev(jacobi)", 0.99, 3, 1.0)
    assert (solver.corrector.name, solver.corrector.omega) == ("jacobi", 0.9)


@pytest.mark.parametrize(
    ("what", "name", "options"),
    [
        ("chebyshev", "chebyshev(jacobi)", {"rho": "auto"}),
        ("chebyshev(direct)", "chebyshev(direct)", {"rho": "auto"}),
        ("chebyshev(direct):", "chebyshev(direct)", {}),
        (" chebyshev ( multigrid ) : rho = 0.5 ", "chebyshev(multigrid)", {"rho": 0.5}),
        ("chebyshev(vivace:omega=1.5,ramp=1):gamma=0.5", "chebyshev(vivace)", {"gamma": 0.5, "rho": "auto"}),
        ("chebyshev:rho=0.5,inner=gauss-seidel", "chebyshev(gauss-seidel)", {"rho": 0.5}),
        (("chebyshev", {"inner": "jacobi:omega=0.5", "rho": 0.5}), "chebyshev(jacobi)", {"rho": 0.5}),
        ("chebyshev(weighted-jacobi):rho=auto,watch=false", "chebyshev(weighted-jacobi)", {"watch": False}),
        ("chebyshev(jacobi):rho=0", "chebyshev(jacobi)", {"rho": 0}),
    ],
)
def test_ways_to_write_it(what, name, options):
    solver = make_solver(what)
    assert solver.name == name
    assert {key: getattr(solver, key) for key in options} == options


@pytest.mark.parametrize("what", ["chebyshev(jacobi", "chebyshev(jacobi:omega=0.9:rho=0.9", "pcg(jacobi)direct"])
def test_brackets_must_close(what):
    with pytest.raises(InputError, match=r"the brackets of solver .* do not close; write name\(inner\):option=value"):
        make_solver(what)


@pytest.mark.parametrize("what", ["chebyshev)", "chebyshev(jacobi))", "chebyshev()", "chebyshev((jacobi)"])
def test_other_slips_of_brackets_are_errors_too(what):
    with pytest.raises(InputError, match=r"unknown solver|do not close"):
        make_solver(what)


@pytest.mark.parametrize("wrapper", ["chebyshev", "pcg", "lbfgs"])
def test_what_cannot_be_inside(wrapper):
    with pytest.raises(UnknownNameError, match=r"unknown solver 'jacoby'; did you mean 'jacobi' or 'pbd-jacobi'\?"):
        make_solver(f"{wrapper}(jacoby)")
    for inner in ("newton", "auto", "block-descent", "pcg(jacobi)"):
        able = "direct, gauss-seidel, jacobi, multigrid, vivace, weighted-jacobi"
        with pytest.raises(InputError, match=rf"{wrapper} accelerates solvers that make linear corrections \({able}\)"):
            make_solver(f"{wrapper}({inner})")
    with pytest.raises(InputError, match=r"solver 'jacobi' has no option 'omga'; its options: omega"):
        make_solver(f"{wrapper}(jacobi:omga=1)")
    with pytest.raises(InputError, match=r"solver 'jacobi' has no option 'inner'"):
        make_solver("jacobi(direct)")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        *(
            (f"rho={rho}", r"rho must be 'auto' or lie in \[0, 1\), not")
            for rho in (1, -0.1, 1.5, "nan", "true", "big")
        ),
        *((f"delay={k}", r"delay must be a whole number of iterations from 0 to 10000, not") for k in (-1, 2.5, 10001)),
        *((f"gamma={g}", r"the under-relaxation gamma must lie in \(0, 1\], not") for g in (0, 1.1, -1, "nan", "all")),
        *((f"horizon={k}", r"horizon must be a whole number of iterations from 1 to 10000") for k in (0, 1.5, "far")),
        ("sigma=1", r"solver 'chebyshev' has no option 'sigma'; its options: delay, gamma, horizon, inner, rho, watch"),
    ],
)
def test_bad_options_say_what_is_wrong(option, message):
    with pytest.raises(InputError, match=message):
        make_solver(f"chebyshev(jacobi):{option}")


# --- what ρ does -----------------------------------------------------------------------------------------------------


def test_on_a_linear_problem_it_is_chebyshevs_polynomial():
    """Hinges only: projections do not move, and K iterations leave C_K(x/ρ)/C_K(1/ρ) of a mode of I - D⁻¹Y/2."""
    sheet = mesh.cloth(6, 6)
    bare = Model(sheet, np.full(36, 0.1), (), np.array([0.0, -9.81, 0.0]))
    model = bare.constrain("hinge", sheet.hinges, 5.0).pin("top-corners", stiffness=500.0)
    system, frame = moving_frame(Scene("hinges", model, 1 / 30), frames=2)
    k, rho = 9, 0.9
    solver = prepared(f"chebyshev(weighted-jacobi:omega=0.5):rho={rho},delay=0,watch=False", system)
    exact = np.linalg.solve(system.matrix.toarray(), system.right_hand_side(frame.start, frame))
    root = np.sqrt(system.diagonal)[:, None]
    values, vectors = np.linalg.eigh(np.eye(36) - 0.5 * system.matrix.toarray() / (root * root.T))
    left = chebval(values / rho, np.eye(k + 1)[k]) / chebval(1 / rho, np.eye(k + 1)[k])
    expected = exact + (vectors * left) @ vectors.T @ (root * (frame.start - exact)) / root
    assert np.abs(exact - frame.start).max() > 1e-3
    np.testing.assert_allclose(run(solver, system, frame, k), expected, rtol=0, atol=1e-5 * np.abs(exact).max())


def kinetic(sim) -> float:
    return 0.5 * float(sim.model.masses @ np.sum(sim.velocities.astype(np.float64) ** 2, axis=1))


def liveliest(scene, solver, iterations, frames=60) -> float:
    """The largest kinetic energy on the way (J); infinite when it is not a number any more."""
    sim = scene.simulate(solver=solver, budget=Budget(iterations=iterations), threads=1)
    found = []
    for _ in range(frames):
        sim.step()
        found.append(kinetic(sim))
    return max(found) if np.isfinite(found).all() else np.inf


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [5, 12, 30])
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_a_fixed_rho_explodes_where_the_automatic_does_not(name, iterations):
    """Every step on its own lowers the energy; what it leaves of some modes comes back as velocity and grows.

    Not more than twice what falling by its own size could give the body, m g L.
    """
    scene = small_scene(name)
    weight = 2 * 9.81 * scene.model.masses.sum() * np.ptp(scene.model.mesh.vertices, axis=0).max()
    if iterations == 12:
        assert liveliest(scene, "chebyshev(jacobi):rho=0.9999,delay=3,watch=False", 12) > 1e6 * weight
    for options in ("", ":horizon=12", ":rho=0.9999,delay=3", ":rho=0.99999"):
        assert liveliest(scene, f"chebyshev(jacobi){options}", iterations) < weight, options


def test_the_largest_rho_leaves_a_third():
    """1/C_m(1/ρ) = 1/3 for the m iterations that are accelerated; with more of them ρ may be larger."""
    solver = Chebyshev(delay=4)
    for iterations, m in ((12, 9), (60, 57), (5, 2), (4, 2), (1, 2)):
        rho = solver.largest_rho(iterations)
        assert chebval(1 / rho, np.eye(m + 1)[m]) == pytest.approx(3.0)
    assert Chebyshev(delay=0).largest_rho(10) > solver.largest_rho(10)


def test_the_largest_rho_is_that_of_the_last_step():
    """The first step takes the horizon's, later ones that of the iterations there were; without watch nobody minds."""
    scene = small_scene("tablecloth")
    sim = scene.simulate(solver="chebyshev(jacobi):rho=0.99999,delay=2", budget=Budget(iterations=8), threads=1)
    sim.step()
    assert sim.solver._settings[0] == sim.solver.largest_rho(60)
    sim.step()
    assert sim.solver._settings[0] == sim.solver.largest_rho(8)
    assert sim.solver.used_rho == 0.99999
    sim = scene.simulate(solver="chebyshev(jacobi):rho=0.99999,watch=False", budget=Budget(iterations=8), threads=1)
    sim.step()
    sim.step()
    assert sim.solver._settings[0] == 0.99999


def overshooting(system, watch):
    """A solver whose corrections are twice too long: no ρ is small enough for them."""
    solver = prepared(f"chebyshev(jacobi):rho=0.999,delay=0,watch={watch}", system)
    solver._settings[[2, 4]] = 2.0
    return solver


@pytest.mark.slow
def test_watching_goes_back_to_the_best_iterate_where_the_plain_method_diverges():
    """ρ is given up first, then the length of the corrections; nothing ends above the start, and progress goes on."""
    system, frame = moving_frame(small_scene("tablecloth"), frames=8)
    start = system.energy(frame.start, frame)
    plain = [system.energy(run(overshooting(system, False), system, frame, k), frame) for k in (10, 40)]
    assert plain[1] > plain[0] > 100 * start
    energies = [system.energy(run(overshooting(system, True), system, frame, k), frame) for k in range(1, 41)]
    assert max(energies) < start
    assert energies[-1] < 0.5 * min(energies[:10])


def test_a_report_tells_of_restarts():
    sim = small_scene("tablecloth").simulate(solver="chebyshev(jacobi):rho=0.999,delay=0", threads=1)
    sim.prepare()
    assert sim.step(Budget(iterations=40)).note == ""
    sim.solver._settings[[2, 4]] = 2.0
    sim.solver.used_rho = 0.999
    note = sim.step(Budget(iterations=40)).note
    assert note.startswith("ρ reduced to 0")
    assert note.endswith(" restarts)")


# --- who finds it ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["jacobi", "gauss-seidel", "multigrid"])
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_the_tuned_rho_beats_none(name, inner):
    """On the frame that it is tuned on, and over a whole animation; the same again and again."""
    scene = small_scene(name)
    k = 12 if inner == "multigrid" else 30
    found = []
    for _ in range(2):
        sim = scene.simulate(solver=f"chebyshev({inner}):horizon={k},delay=2", budget=Budget(iterations=k), threads=1)
        sim.prepare()
        found.append(sim.solver.used_rho)
    assert found[0] == found[1]
    assert 0 <= found[0] < 1
    system, frame = moving_frame(scene, frames=5)
    energies = []
    for rho in (found[0], 0.0):
        solver = prepared(f"chebyshev({inner}):rho={rho!r},delay=2,watch=False", system)
        energies.append(system.energy(run(solver, system, frame, k), frame))
    assert energies[0] <= energies[1]
    if inner != "multigrid":
        assert energies[0] < energies[1]
        assert found[0] > 0.5


def test_tuning_leaves_the_solver_as_it_was():
    scene = small_scene("tablecloth")
    solver = make_solver("chebyshev(jacobi):rho=0.7")
    sim = scene.simulate(solver=solver, budget=Budget(iterations=5), threads=1)
    sim.prepare()
    rho = tuned_rho(solver, sim.system, iterations=20)
    assert rho > 0.7
    assert (solver.used_rho, solver.watching) == (0.7, True)
    fresh = scene.simulate(solver="chebyshev(jacobi):rho=0.7", budget=Budget(iterations=5), threads=1)
    for _ in range(3):
        sim.step()
        fresh.step()
    np.testing.assert_array_equal(sim.positions, fresh.positions)


@pytest.mark.slow
def test_threads_find_the_same_rho():
    scene = make_scene("tablecloth", resolution=25)
    found = []
    for threads in (1, 2):
        sim = scene.simulate(solver="chebyshev(jacobi):horizon=15", threads=threads)
        sim.prepare()
        found.append(sim.solver.used_rho)
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_hierarchy_from_the_background_does_not_lose_the_rho():
    """The plan is laid out anew when the hierarchy is there; and ρ is that of cycles, not of sweeps."""
    scene = small_scene("tablecloth")
    sims = [
        scene.simulate(solver=f"chebyshev(multigrid:background={b}):horizon=8,delay=2", budget=Budget(iterations=5))
        for b in (True, False)
    ]
    for sim in sims:
        sim.prepare()
    rho = sims[0].solver.used_rho
    assert rho == sims[1].solver.used_rho
    for _ in range(3):
        for sim in sims:
            sim.step()
    assert sims[0].solver.used_rho == rho
    np.testing.assert_array_equal(sims[0].positions, sims[1].positions)
    fixed = scene.simulate(solver="chebyshev(multigrid:background=True):rho=0.4", budget=Budget(iterations=5))
    fixed.step()
    fixed.prepare(wait=True)
    fixed.step()
    assert fixed.solver._settings[0] == 0.4


def test_what_a_scene_has_tuned_is_used():
    """Where ρ is "auto" and the solver is named; not for a number, another solver or the caller's own solver."""
    plain = small_scene("tablecloth")
    scene = Scene("tuned", plain.model, plain.time_step, tuned={"chebyshev(jacobi)": 0.875})
    cases = {
        "chebyshev(jacobi)": 0.875,
        "chebyshev(jacobi):rho=0.5": 0.5,
        "chebyshev(jacobi:omega=0.9):rho=0.25": 0.25,
    }
    for name, rho in cases.items():
        sim = scene.simulate(solver=name, threads=1)
        sim.prepare()
        assert sim.solver.used_rho == rho
    own = make_solver("chebyshev(jacobi):horizon=5")
    scene.simulate(solver=own, threads=1).prepare()
    assert own.rho == "auto"
    assert own.used_rho != 0.875
    other = scene.simulate(solver="chebyshev(gauss-seidel):horizon=5", threads=1)
    other.prepare()
    assert other.solver.used_rho != 0.875
