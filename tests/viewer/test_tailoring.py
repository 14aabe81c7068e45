"""What an artist changes first: fabric, contacts of the body with itself, resolution; and what the page is offered."""

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import PATIENCE, SMALL, running, until
from vivace.errors import InputError, UnknownNameError
from vivace.scenes import load_scene
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.choices import resolution_of

pytestmark = pytest.mark.slow


def sim_of(told):
    return told.session.sims[0]


def test_a_fabric_changes_masses_springs_damping_and_friction():
    with running(Target("tablecloth", {"resolution": 12})) as told:
        told.frames(2)
        before = sim_of(told).model
        told.change(fabric="leather")
        leather, model = vv.fabric("leather"), sim_of(told).model
        assert model.masses.sum() == pytest.approx(leather.density)
        assert model.groups[0].weights == pytest.approx(leather.stretch)
        assert (model.air, model.collisions.friction[0]) == (leather.damping, leather.friction)
        assert told.session.settings.fabric == "leather"
        told.change(stiffness=2.0)
        assert sim_of(told).model.groups[0].weights == pytest.approx(2 * leather.stretch)
        told.frames(2)
        told.change(fabric="", stiffness=1.0)
        assert sim_of(told).model.masses == pytest.approx(before.masses)
        told.frames(2)


def test_what_is_held_stays_held_by_another_fabric(told):
    told.frames(2)
    told.tell(m.Grab(0, 100, [0.1, 0.2, 0.3], told.session.running_scene.backdrop.number, told.order()))
    told.change(fabric="rubber")
    told.frames(20)
    assert 100 in sim_of(told).grabbed


def test_unknown_fabrics_and_bodies_that_are_no_cloth(told):
    told.change(fabric="demin")
    until(lambda: any("did you mean 'denim'" in text for text in told.notices()), "the notice")
    with running(Target("bar", {"resolution": 3})) as solid:
        assert "fabric" not in solid.session.state.controls
        solid.change(fabric="silk")
        until(lambda: any("no plain sheet" in text for text in solid.notices()), "the notice")


def test_touching_itself(told):
    told.frames(1)
    assert sim_of(told).model.collisions is None
    assert "direct" in told.session.state.solvers
    told.change(self_contact=True)
    assert sim_of(told).model.collisions.itself
    assert "direct" not in told.session.state.solvers  # it does not follow contacts
    assert "auto" in told.session.state.solvers
    told.frames(2)
    told.change(self_contact=False)
    assert sim_of(told).model.collisions is None
    told.frames(1)


def test_a_solver_that_cannot_follow_is_told_before_anything_changes(told):
    told.frames(1)
    told.tell(m.Change(solver="direct"))
    until(lambda: told.session.settings.solver == "direct", "the solver")
    told.change(self_contact=True)
    until(lambda: any("does not follow contacts" in text for text in told.notices()), "the notice")
    assert sim_of(told).model.collisions is None
    assert not told.session.settings.self_contact
    told.frames(2)


def test_resolution_makes_the_scene_anew_with_its_settings(told):
    told.frames(1)
    now, least, most = told.session.state.resolution
    assert (now, least, most) == (12, 12, 160)
    told.change(fabric="silk", gravity=5.0, wind=2.0, wind_heading=90.0)
    told.tell(m.Remake(resolution=30))
    until(lambda: sim_of(told).model.n == 900, "the finer cloth")
    told.settle()
    assert told.session.state.resolution == [30, 25, 160]
    settings = told.session.settings
    assert (settings.fabric, settings.gravity, settings.wind, settings.wind_heading) == ("silk", 5.0, 2.0, 90.0)
    assert sim_of(told).model.masses.sum() == pytest.approx(vv.fabric("silk").density)
    assert sim_of(told).gravity[1] == -5.0
    told.tell(m.Remake(resolution=4))  # less than what is offered is the least that is
    until(lambda: sim_of(told).model.n == 25**2, "the coarsest cloth")


def test_who_has_a_resolution():
    assert resolution_of(Target("tablecloth", {}), True) == [100, 25, 160]
    assert resolution_of(Target("s0", {}), True) == []
    assert resolution_of(Target("box-stack", {}), False) == []
    with running(Target("box-stack", {"n": 2})) as told:
        told.tell(m.Remake(resolution=9))
        told.tell(m.Remake(kind="cloth"))
        until(lambda: len(told.notices()) >= 2, "the refusals")
        assert "has no resolution" in told.notices()[0]
        assert "no mesh of your own" in told.notices()[1]


@pytest.mark.parametrize(
    ("target", "has", "lacks"),
    [
        (SMALL, {"fabric", "self_contact", "wind", "compare"}, {"relaxation", "iterations"}),
        (Target("bar", {"resolution": 3}), {"self_contact", "stiffness"}, {"fabric"}),
        (
            Target("box-stack", {"n": 2}),
            {"gravity", "iterations"},
            {"fabric", "wind", "compare", "colour_by", "stiffness"},
        ),
        (Target("box-on-jelly", {"n": 3}), {"wind", "gravity"}, {"compare", "fabric"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_only_controls_that_do_something(target, has, lacks):
    with running(target) as told:
        controls = set(told.session.state.controls)
        assert has <= controls
        assert not lacks & controls


def test_solvers_and_colourings_that_fit():
    with running(Target("box", {"resolution": 3})) as told:  # hyperelastic
        told.frames(1)
        state = told.session.state
        assert "auto" in state.solvers
        assert "vivace" not in state.solvers
        assert "conversion" in state.colourings
        told.tell(m.Change(solver="vivace"))
        until(lambda: any("energy terms" in text for text in told.notices()), "the refusal")
    with running(SMALL) as told:
        told.frames(1)
        assert set(told.session.state.colourings) >= {"plain", "strain", "residual"}
        assert "contact" not in told.session.state.colourings
        assert "conversion" not in told.session.state.colourings


def test_what_was_made_is_saved(told, tmp_path):
    from vivace.viewer.server import _scene_file

    told.frames(1)
    told.change(fabric="denim", self_contact=True)
    path = tmp_path / "saved.toml"
    path.write_text(told.session.ask(lambda: _scene_file(told.session)).result(PATIENCE))
    model = load_scene(path).model
    np.testing.assert_allclose(model.masses, sim_of(told).model.masses)
    assert model.collisions.itself
    for mine, theirs in zip(model.groups, sim_of(told).model.groups, strict=True):
        np.testing.assert_allclose(mine.weights, theirs.weights)


def test_refusals_have_types():
    with pytest.raises(UnknownNameError):
        vv.fabric("")
    with pytest.raises(InputError):
        Target("tablecloth", {"nothing": 1}).load()
