"""One's own constraints by value: checked when they are registered, and usable."""

from __future__ import annotations

import re

import numpy as np
import pytest

import vivace as vv
from constraints.by_value import TET
from vivace.constraints import CONSTRAINTS, Prepared, Role, constraint, make_group


def named(name):
    """`name` with a number, because a registry takes each once."""
    return f"{name} {len(CONSTRAINTS)}"


def refuses(message, cls, **options):
    name = named("refused")
    known = set(CONSTRAINTS)
    with pytest.raises(vv.InputError, match=re.escape(message)):
        constraint(name, **options)(cls)
    assert set(CONSTRAINTS) == known


class Nothing:
    @staticmethod
    def prepare(rest):
        return Prepared(parameters=np.zeros((len(rest), 0)))


def test_registering_by_value_is_checked():
    refuses("has no evaluate(x, parameters, gradient)", Nothing, vertices=2, rows=0, role=Role.POSITION)
    refuses("rows must be 0, not 1", Nothing, vertices=2, rows=1, role=Role.POSITION)
    refuses("must be at least 1, not 0 and 0", Nothing, vertices=0, rows=0, role=Role.POSITION)
    refuses("must be at least 1, not 2 and 0", Nothing, vertices=2, rows=0)
    without = type("Without", (), {"evaluate": staticmethod(lambda x, parameters, gradient: 0.0)})
    refuses("has no prepare", without, vertices=2, rows=0, role=Role.POSITION)


def registered(evaluate, vertices=2):
    name = named("own")
    cls = type("Own", (Nothing,), {"evaluate": staticmethod(evaluate)})
    constraint(name, vertices=vertices, rows=0, role=Role.POSITION)(cls)
    return name


def fails(x, parameters, gradient):
    return x[7, 0]


def forgets_a_vertex(x, parameters, gradient):
    gradient[0] = 1.0
    return 0.0


def returns_nothing(x, parameters, gradient):
    gradient[:] = 0.0


def is_not_finite(x, parameters, gradient):
    gradient[:] = 0.0
    return np.nan


def test_evaluate_is_tried_out_where_its_mistakes_have_a_message():
    cases = {
        fails: "evaluate(x, parameters, gradient) fails at rest: IndexError",
        forgets_a_vertex: "evaluate must return C and write gradient[k, c] for every vertex k, all finite",
        returns_nothing: "evaluate must return C",
        is_not_finite: "evaluate must return C",
    }
    for function, message in cases.items():
        name = registered(function)
        with pytest.raises(vv.InputError, match=re.escape(message)):
            make_group(name, TET, [[0, 1]], 1.0)


@constraint("test-height", vertices=1, rows=0, parameters=("height",), role=Role.POSITION)
class Height:
    """Keeps a vertex at the height where it was."""

    @staticmethod
    def prepare(rest):
        return Prepared(parameters=rest[:, 0, 1:2])

    @staticmethod
    def evaluate(x, parameters, gradient):
        gradient[0, 0], gradient[0, 1], gradient[0, 2] = 0.0, 1.0, 0.0
        return x[0, 1] - parameters[0]


@constraint("test-rope", vertices=2, rows=1, parameters=("length",))
class Rope:
    """Resists being longer than its length, and nothing else."""

    @staticmethod
    def prepare(rest, slack=1.0):
        length = slack * np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
        return Prepared(operator=[[1.0, -1.0]], parameters=length[:, None])

    @staticmethod
    def project(z, parameters, p):
        size = np.sqrt(z[0, 0] ** 2 + z[0, 1] ** 2 + z[0, 2] ** 2)
        scale = parameters[0] / size if size > parameters[0] else 1.0
        for c in range(3):
            p[0, c] = scale * z[0, c]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-vivace"])
def test_ones_own_constraints_work_in_position_based_solvers(solver):
    """Two balls of 1 kg at heights held by k = 1000 N/m sink by m g/k = 9.81 mm; a rope between them stops one that is
    pulled away by F, at its length and F/k'. Closed forms of rest, reached with air, to 1%."""
    wire = vv.mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]])
    base = vv.Model.of(wire, vv.Wire(density=2.0, stretch=1.0), air=10.0)
    own = tuple(group for group in base.groups if group.kind.name != "spring")
    model = vv.Model(base.mesh, base.masses, own, base.gravity, air=10.0)
    model = model.constrain("test-height", [0, 1], 1000.0).constrain("test-rope", [[0, 1]], 500.0, slack=1.5)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=20), threads=1)
    sim.apply_forces([[-5.0, 0, 0], [5.0, 0, 0]])
    for _ in range(400):
        sim.step()
    x = sim.positions
    np.testing.assert_allclose(x[:, 1], -9.81 / 1000, rtol=0.01)
    assert x[1, 0] - x[0, 0] == pytest.approx(1.5 + 5.0 / 500, rel=1e-3)


def test_a_rope_that_is_slack_does_nothing():
    """p = z inside the set, so C = 0 and two free vertices fall as they would alone: bits of the prediction."""
    wire = vv.mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]])
    base = vv.Model.of(wire, vv.Wire())
    model = vv.Model(base.mesh, base.masses, (), base.gravity).constrain("test-rope", [[0, 1]], 500.0, slack=1.5)
    sim = vv.Simulation(model, solver="pbd-coloured", budget=vv.Budget(iterations=5), threads=1)
    for _ in range(10):
        report = sim.step()
        np.testing.assert_array_equal(report.positions, report.frame.s.astype(np.float32))


@pytest.mark.parametrize("solver", ["vivace", "auto", "jacobi", "gauss-seidel", "lbfgs(multigrid)", "block-descent"])
@pytest.mark.parametrize("name", ["jelly", "dihedral", "own"])
def test_projective_solvers_refuse_constraints_by_value(solver, name):
    """With the constraint's name and the remedy, and before anything has moved."""
    cloth = vv.mesh.cloth(3, 3)
    model = {
        "jelly": lambda: vv.Model.of(vv.mesh.cube(2), vv.Jelly()),
        "dihedral": lambda: vv.Model.of(cloth, vv.Cloth(bending="dihedral")),
        "own": lambda: vv.Model.of(cloth).constrain("test-height", [0], 1.0),
    }[name]()
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=2), threads=1)
    kind = {"jelly": "volume", "own": "test-height"}.get(name, name)
    with pytest.raises(vv.InputError, match=f"'{kind}'.*position based solver such as pbd-coloured"):
        sim.step()
    np.testing.assert_array_equal(sim.positions, model.mesh.vertices.astype(np.float32))


@pytest.mark.slow
def test_newton_asks_for_the_energy_and_takes_them():
    """They are part of its Hessian: ten iterations are as good as a hundred, ∇ε at float32's 1e-7 m x stiffness."""
    model = vv.Model.of(vv.mesh.cube(2, side=0.5), vv.Jelly(stretch=1e3, volume=1e4)).pin([0])
    gradients = []
    for iterations in (1, 10, 100):
        sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=iterations), threads=1)
        sim.velocities = np.random.default_rng(0).normal(size=(model.n, 3))
        gradients.append(sim.step().gradient)
    assert gradients[0] > 10 * gradients[1]
    assert gradients[1] <= 2 * gradients[2]
    assert gradients[2] < 1e-6 * 30e3
