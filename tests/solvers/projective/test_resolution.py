"""Stiffnesses that float32 cannot tell apart: refused by solvers that correct all vertices at once, with the ratio."""

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, System, Wire, mesh
from vivace.mesh import Mesh
from vivace.scenes import make_scene
from vivace.solvers.projective.resolution import FLAT, check_resolved, soft_modes

WHOLE = ["auto", "direct", "multigrid", "lattice(multigrid)", "lbfgs(direct)", "lbfgs(multigrid)", "pcg(multigrid)"]
SWEEPING = ["vivace", "gauss-seidel", "pbd-coloured"]


def stiff_hinges(n, pinned):
    model = Model.of(mesh.cloth(n, n), Cloth(stretch=1.0, bend=1e8))
    return model.pin("top-corners") if pinned else model


MODELS = {
    "hinges": lambda: stiff_hinges(5, False),
    "hinges, pinned": lambda: stiff_hinges(5, True),
    "hinges, fine": lambda: stiff_hinges(20, False),
    "springs": lambda: Model.of(mesh.cloth(12, 12), Cloth(stretch=1e15)),
    "springs, a weak pin": lambda: Model.of(mesh.cloth(12, 12), Cloth(stretch=1e15)).pin("top-corners", stiffness=1e-3),
    "no mass to speak of": lambda: Model.of(mesh.cloth(20, 20), Cloth(density=1e-20)),
}


@pytest.mark.parametrize("solver", WHOLE)
@pytest.mark.parametrize("name", MODELS)
def test_ratios_beyond_float32_are_refused_by_name(name, solver):
    sim = Simulation(MODELS[name](), solver=solver, budget=Budget(iterations=5), threads=1)
    kind = "hinge" if "hinges" in name else "spring"
    for _ in range(2):  # and again, when asked again
        with pytest.raises(
            InputError, match=rf"as easily as its stiffest constraints, '{kind}', give way; .* tell apart"
        ):
            sim.step()
    assert np.isfinite(sim.positions).all()


@pytest.mark.parametrize("solver", SWEEPING)
@pytest.mark.parametrize("name", MODELS)
def test_solvers_that_sweep_stay_finite(name, solver):
    sim = Simulation(MODELS[name](), solver=solver, budget=Budget(iterations=5), threads=1)
    for _ in range(30):
        assert sim.step().finite


@pytest.mark.parametrize("bend", [1e2, 1e3, 1e4, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("solver", ["auto", "multigrid", "direct"])
def test_what_is_not_refused_stays_finite(solver, bend):
    """A pinned sheet whose hinges are stiffer and stiffer: refused from some bend on, finite for 60 frames below."""
    model = Model.of(mesh.cloth(5, 5), Cloth(stretch=1.0, bend=bend)).pin("top-corners")
    sim = Simulation(model, solver=solver, budget=Budget(iterations=4), threads=1)
    try:
        reports = [sim.step() for _ in range(60)]
    except InputError:
        assert bend > 1e3
        return
    assert all(report.finite for report in reports)
    assert np.abs(sim.positions).max() < 100


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_scene("tablecloth", resolution=40).model.stiffened(100.0),
        lambda: make_scene("s0", scale=0.1).model.stiffened(100.0),
        lambda: Model.of(mesh.bar(13, 4, 4), Solid(7800.0, 2e11, 0.3)).pin("left"),  # steel
        lambda: Model.of(mesh.bar(13, 4, 4), Solid(7800.0, 2e11, 0.3)),
        lambda: Model.of(mesh.cloth(12, 12), Cloth(bend=0.0)),
        lambda: Model.of(mesh.cloth(12, 12), Cloth(bend=1e-12)),
        lambda: Model.of(
            Mesh.from_edges([[0.1 * k, 0, 0] for k in range(3000)], [[k, k + 1] for k in range(2999)]), Wire()
        ),
        lambda: Model(mesh.cloth(4, 4), np.ones(16), (), np.zeros(3)),
    ],
)
def test_stiff_bodies_are_not_refused(make):
    """It is not stiffness that is refused, but something soft that it does not hold; and that may be soft by itself."""
    check_resolved(System(make(), 1 / 30))


def test_moves_and_shapes_are_rayleigh_quotients():
    """λ = u·Yu / u·Du for u = 1; and the lowest of any stretch or shear, by trying many: that away from the pins."""
    model = Model.of(mesh.cube(4, 0.7), Solid(youngs_modulus=1e7, poisson_ratio=0.2)).pin("left")
    system = System(model.constrain("spring", [[0, 5]], 1e3), 0.02)
    shift, shape, fine = soft_modes(system)
    y, d, one = system.matrix, system.diagonal, np.ones(system.n)
    assert shift[0] == pytest.approx(one @ (y @ one) / (one @ (d * one)), rel=1e-9)
    rng = np.random.default_rng(0)
    x = np.column_stack([one, model.mesh.vertices])
    tried = [float(u @ (y @ u) / (u @ (d * u))) for u in (x @ c for c in rng.normal(size=(2000, 4)))]
    assert shape[0] <= min(tried) * (1 + 1e-9)
    assert shape[0] > 0.5 * min(tried)
    edges = model.mesh.vertices[model.mesh.edges]
    length = np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1).mean()
    assert 0.5 * length / 0.7 <= fine[0] <= length / 0.7  # sizes are twice the way to the farthest from the middle


def test_each_body_is_judged_by_itself():
    """A soft body beside a stiff one, turned so that no axis is its own; flat ones have no thickness to be sheared."""
    sheet = mesh.cloth(6, 6).transformed(rotate=(0.3, 0.4, 0.5))
    both = mesh.join([sheet, sheet.transformed(translate=(3, 0, 0))])
    soft, hard = (both.edges[(both.edges[:, 0] < 36) == first] for first in (True, False))
    model = Model.of(both, Cloth(bend=0.0), gravity=(0, 0, 0))
    plain = soft_modes(System(model, 1 / 30))
    assert len(plain[0]) == 2
    np.testing.assert_allclose(plain[0], plain[0][0], rtol=1e-6)
    np.testing.assert_allclose(plain[1], plain[1][0], rtol=1e-6)
    stiffer = soft_modes(System(model.constrain("spring", hard, 1e9), 1 / 30))
    assert stiffer[0][0] == pytest.approx(plain[0][0], rel=1e-6)
    assert stiffer[0][1] < 1e-4 * plain[0][1]
    assert len(soft) == len(hard)
    assert FLAT < 1e-6


def test_heavy_scenes_whose_forces_overflow_are_refused():
    """m/h² is a float32, but m/h² times a position is not."""
    model = Model.of(mesh.cube(3, 1e6), Solid(density=5e12))
    with pytest.raises(InputError, match="beyond what float32 holds"):
        Simulation(model, solver="vivace", budget=Budget(iterations=1), threads=1).step()
