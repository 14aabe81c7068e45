"""Hyperelastic materials in models: masses, terms, pins, stiffening, scene files, and what is refused."""

import numpy as np
import pytest

import vivace as vv
from vivace.hyperelastic import Conversion, Hyperelastic

BAR = vv.mesh.bar(4, 3, 3, size=(0.3, 0.2, 0.2))
ALL = {
    "stvk": vv.stvk, "neo-hookean": vv.neo_hookean, "mooney-rivlin": vv.mooney_rivlin, "fung": vv.fung,
    "corotated": vv.corotated, "stable-neo-hookean": vv.stable_neo_hookean,
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_model_of_a_hyperelastic_material(name):
    """One term and no constraints; masses add up; scene files know it by its name."""
    assert vv.MATERIALS[name] is ALL[name]
    model = vv.Model.of(BAR, ALL[name](young=1e5, poisson=0.4, density=900.0))
    assert model.groups == ()
    (term,) = model.terms
    assert isinstance(term, Hyperelastic)
    assert term.density.name == name
    assert model.masses.sum() == pytest.approx(900 * 0.012, rel=1e-12)
    assert (term.conversion is None) == (name in ("corotated", "stable-neo-hookean"))


def test_pins_are_stiff_beside_it():
    """Pins know how stiff the body is: 30 times the largest diagonal entry of an element, as with constraints."""
    soft, stiff = (vv.Model.of(BAR, vv.neo_hookean(young=young)) for young in (1e4, 1e6))
    assert stiff.pin_stiffness == pytest.approx(100 * soft.pin_stiffness)
    assert soft.stiffened(100.0).pin_stiffness == pytest.approx(stiff.pin_stiffness)


@pytest.mark.slow
def test_pin_stiffness_is_that_of_the_hessian():
    model = vv.Model.of(BAR, vv.neo_hookean(young=1e5))
    blocks = model.terms[0].hessians(BAR.vertices)
    largest = np.einsum("mii->mi", blocks).max()
    assert 0.3 * largest < model.pin_stiffness / 30 < 3 * largest


@pytest.mark.slow
def test_a_hanging_bar_in_a_scene_file(tmp_path):
    """[material] kind = "neo-hookean": longer by ρ g L²/(2 E) for small strains."""
    file = tmp_path / "bar.toml"
    file.write_text(
        '[mesh]\ngenerator = "bar"\nnx = 9\nny = 3\nnz = 3\nsize = [0.5, 0.1, 0.1]\n'
        '[material]\nkind = "neo-hookean"\nyoung = 1e6\npoisson = 0.0\ndensity = 1000.0\n'
        '[pins]\nwhere = "left"\n[world]\ngravity = [9.81, 0.0, 0.0]\nair = 20.0\n[solver]\nname = "newton"\n',
        encoding="utf-8",
    )
    scene = vv.load_scene(file)
    budget = vv.Budget(iterations=20, tolerance=1e-8)
    sim = vv.Simulation(scene.model, solver="newton", budget=budget, time_step=0.1)
    for _ in range(20):
        sim.step()
    left, right = (sim.positions[scene.model.mesh.groups[end], 0].mean() for end in ("left", "right"))
    assert right - left - 0.5 == pytest.approx(1000 * 9.81 * 0.5**2 / 2e6, rel=0.02)


def test_other_solvers_say_who_can():
    model = vv.Model.of(BAR, vv.neo_hookean()).pin("left")
    with pytest.raises(vv.InputError, match=r"Hyperelastic.*newton"):
        vv.Simulation(model, solver="vivace").step()


def test_bad_materials_are_refused():
    for options, said in (
        ({"poisson": 0.5}, "poisson must lie in 0 to 0.5"), ({"poisson": 0.7}, "poisson"),
        ({"poisson": -0.1}, "poisson"),
        ({"young": -1.0}, "young must be a positive"), ({"young": 0}, "young"), ({"young": np.nan}, "young"),
        ({"young": 1e31}, "young"), ({"density": 0.0}, "density must be positive"), ({"density": "heavy"}, "density"),
        ({"conversion": "yes"}, "conversion must be true, false"),
    ):  # fmt: skip
        for kind in ALL.values():
            with pytest.raises(vv.InputError, match=said):
                kind(**options)
    with pytest.raises(vv.InputError, match="second must lie in 0 to 1"):
        vv.mooney_rivlin(second=1.5)
    with pytest.raises(vv.InputError, match="growth must be positive"):
        vv.fung(growth=0.0)
    with pytest.raises(vv.InputError, match="needs tetrahedra"):
        vv.Model.of(vv.mesh.cloth(3, 3), vv.neo_hookean())
    assert vv.neo_hookean(conversion=Conversion(high=0.3)).terms(BAR)[0].conversion.high == 0.3
