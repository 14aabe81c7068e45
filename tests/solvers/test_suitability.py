"""What solvers say that they cannot do is what they refuse, and what they say they can do they do."""

import pytest

import vivace as vv
from vivace.errors import VivaceError
from vivace.solvers import make_solver
from vivace.viewer.choices import SOLVER_NAMES


def models():
    cloth = vv.Model.of(vv.mesh.cloth(4, 4, plane="horizontal").transformed(translate=(0, 0.001, 0)))
    cube = vv.mesh.cube(3, 0.1)
    box = vv.Body(vv.collisions.Box((0, -0.05, 0), (0.5, 0.05, 0.5)), mass=1.0)
    return {
        "contacts": cloth.collide([vv.collisions.Plane()]),
        "bodies": cloth.collide([box], itself=False),
        "hyperelastic": vv.Model.of(cube, vv.neo_hookean()).pin("top"),
        "creases": vv.Model.of(vv.mesh.cloth(4, 4), vv.Sheet(crease=10.0)).pin("top-corners"),
        "valued creases": vv.Model.of(vv.mesh.cloth(4, 4), vv.Cloth(bending="dihedral", crease=10.0)).pin(
            "top-corners"
        ),
        "valued": vv.Model.of(cube, vv.Jelly()).pin("top"),
    }


MODELS = models()


@pytest.mark.slow
@pytest.mark.parametrize("what", MODELS)
@pytest.mark.parametrize("name", SOLVER_NAMES)
def test_they_keep_their_word(name, what):
    model = MODELS[what]
    why = make_solver(name).why_not(model)
    sim = vv.Simulation(model, solver=name, budget=vv.Budget(iterations=2), time_step=1 / 60, threads=1)
    if why:
        with pytest.raises(VivaceError):
            sim.step()
    else:
        sim.step()
