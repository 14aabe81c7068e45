"""The docstring of every solver ends with what it cannot do, and what it says is so."""

import inspect

import numpy as np
import pytest

from vivace import SOLVERS, Budget, Cloth, ElementTerm, InputError, Model, Simulation, mesh
from vivace.collisions import Plane
from vivace.solvers import limitations_of

NAMES = sorted(SOLVERS)
TILT = np.radians(20.0)


class Well(ElementTerm):
    """|x|²/2 at every vertex: an energy that no projection is known for."""

    def energies(self, x):
        return 0.5 * np.sum(x**2, axis=(1, 2))

    def gradients(self, x):
        return x


def refuses(model, solver):
    """Whether a step of the model is refused with a message."""
    try:
        Simulation(model, solver=solver, budget=Budget(iterations=2), time_step=1 / 60, threads=1).step()
    except InputError:
        return True
    return False


def lying(friction=0.6):
    """A cloth at rest on a slope below the angle of friction; the slope's plane, tilted about z."""
    normal = np.array([np.sin(TILT), np.cos(TILT), 0.0])
    sheet = mesh.cloth(6, 6, 0.3, 0.3).transformed(rotate=[0, 0, -TILT], translate=0.004 * normal)
    ground = Plane((0, 0, 0), tuple(normal))
    return Model.of(sheet, Cloth(density=0.5, stretch=1e3)).collide([ground], friction=friction, itself=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_solver_tells_its_limitations(name):
    """As the last paragraph of its docstring, a sentence; so do the classes that accelerate it in their own way."""
    for cls in (SOLVERS[name], *SOLVERS[name].wrappers.values()):
        last = inspect.cleandoc(cls.__doc__).split("\n\n")[-1]
        assert last.startswith("Limitations: ")
        assert " ".join(last.split()) == f"Limitations: {limitations_of(cls)}"
        assert limitations_of(cls).endswith(".")


def test_a_solver_without_a_word_about_it_has_none():
    class Bare(SOLVERS["newton"]):
        """Says nothing."""

    assert limitations_of(Bare) == ""
    Bare.__doc__ = None
    assert limitations_of(Bare) == ""


@pytest.mark.parametrize("name", NAMES)
def test_who_says_no_contacts_refuses_them(name):
    text = limitations_of(SOLVERS[name])
    assert refuses(lying(), name) == ("no contacts" in text and "no contacts over" not in text)
    if "inner" in getattr(SOLVERS[name], "__dataclass_fields__", {}):
        assert refuses(lying(), f"{name}(direct)") == ("no contacts over `direct`" in text)


@pytest.mark.parametrize("name", NAMES)
def test_who_says_no_values_no_creases_and_no_terms_refuses_them(name):
    sheet, text = mesh.cloth(5, 5), limitations_of(SOLVERS[name])
    bent = Model.of(sheet, Cloth(bending="dihedral")).pin("top-corners")
    assert refuses(bent, name) == ("no constraints known by their value" in text)
    folded = Model.of(sheet, Cloth(crease=10.0)).pin("top-corners")
    assert refuses(folded, name) == ("no creases" in text)
    drawn = Model.of(sheet).pin("top-corners").add(Well(np.arange(25)))
    assert refuses(drawn, name) == ("no energy terms of a model's own" in text)


@pytest.mark.parametrize("name", NAMES)
def test_who_says_no_viscosity_leaves_it_out_and_says_so(name):
    thick = Model.of(mesh.cloth(5, 5), viscosity=0.01).pin("top-corners")
    report = Simulation(thick, solver=name, budget=Budget(iterations=2), threads=1).step()
    assert ("viscosity" in report.note) == ("no viscosity" in limitations_of(SOLVERS[name]))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("direct", "newton")])
def test_what_rests_on_a_slope_stands_still(name):
    """μ = 0.6 > tan 20°: whoever knows contacts holds it, and nobody says that it creeps."""
    sim = Simulation(lying(), solver=name, budget=Budget(iterations=10), time_step=1 / 30, threads=1)
    for _ in range(40):
        sim.step()
    speed, rounding = np.abs(sim.velocities).max(), 2.0**-22 * 0.2 * 30
    assert speed <= 4 * rounding
    assert "slope" not in limitations_of(SOLVERS[name])
