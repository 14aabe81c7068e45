"""The physics thread: each message's effect in the simulation."""

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import SMALL, running, until
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.actions import ACTIONS
from vivace.viewer.choices import SOLVER_NAMES, name_of, solver_choices, with_relaxation
from vivace.viewer.session import Session

HALF_CLOTH = 12 * 6 + 6


def sim_of(told, k=0):
    return told.session.sims[k]


# --- settings --------------------------------------------------------------------------------------------------------


def test_budget(told):
    told.change(budget_ms=3.0)
    assert sim_of(told).budget.ms == 3.0
    assert told.session.settings.budget_ms == 3.0


@pytest.mark.slow
def test_gravity_lets_it_fall_upwards(told):
    told.change(gravity=-9.81)
    np.testing.assert_allclose(sim_of(told).gravity, [0, 9.81, 0])
    told.tell(m.Run("reset"))
    told.settle()
    told.frames(10)
    assert sim_of(told).positions[:, 1].mean() > 0.01


@pytest.mark.slow
def test_wind_blows_where_it_is_told_to(told):
    told.change(gravity=0.0, wind=10.0, wind_heading=90.0)
    np.testing.assert_allclose(sim_of(told).wind, [0, 0, -10.0], atol=1e-9)
    told.change(wind_heading=0.0)
    np.testing.assert_allclose(sim_of(told).wind, [10.0, 0, 0], atol=1e-9)
    told.change(wind=0.0)
    assert not sim_of(told).wind.any()


@pytest.mark.slow
def test_wind_moves_a_cloth_that_hangs():
    with running(Target("hanging-cloth", {"resolution": 12})) as told:
        told.frames(5)
        told.change(wind=15.0, wind_heading=270.0)  # towards +z, across the cloth
        told.frames(15)
        assert sim_of(told).positions[:, 2].mean() > 0.05


@pytest.mark.slow
def test_time_step(told):
    told.change(time_step=1 / 100)
    assert sim_of(told).time_step == pytest.approx(1 / 100)
    first, last = told.frames(3), told.frames(5)
    assert last.time - first.time == pytest.approx((last.number - first.number) / 100)


@pytest.mark.slow
def test_stiffness_multiplies_the_weights(told):
    before = [group.weights.copy() for group in sim_of(told).model.groups]
    told.change(stiffness=4.0)
    told.change(stiffness=2.0)  # of the scene's own, not of the last
    springs = sim_of(told).model.groups[0].weights
    np.testing.assert_allclose(springs, 2 * before[0])
    told.change(stiffness=1.0)
    np.testing.assert_allclose(sim_of(told).model.groups[0].weights, before[0])


@pytest.mark.slow
def test_relaxation():
    with running(solver="vivace") as told:
        told.change(relaxation=1.5)
        assert sim_of(told).solver.omega == 1.5
        assert told.session.settings.relaxation == 1.5
        told.frames(3)


@pytest.mark.slow
def test_relaxation_of_a_solver_without_one(told):
    told.change(relaxation=1.5)
    assert "auto has no relaxation" in told.notices()[-1]


@pytest.mark.slow
def test_solver_is_exchanged_while_it_runs(told):
    told.frames(5)
    told.tell(m.Change(solver="jacobi"))
    until(lambda: told.session.settings.solver == "jacobi")
    assert sim_of(told).solver.name == "jacobi"
    assert told.frames(2).views[0].used == "jacobi"
    assert told.session.state.busy == ""


@pytest.mark.slow
def test_the_simulation_goes_on_while_a_solver_is_made(told):
    """The state is that of the running simulation, not of the one in the background."""
    told.frames(30)
    before = sim_of(told).frames
    told.tell(m.Change(solver="pbd-coloured"))
    until(lambda: told.session.settings.solver == "pbd-coloured")
    assert sim_of(told).frames >= before


def test_an_unknown_solver_is_refused(told):
    told.change(solver="jacobbi")
    assert "jacobi" in told.notices()[-1]
    assert told.session.settings.solver == "auto"


@pytest.mark.slow
def test_options_cannot_be_smuggled_in(told):
    told.change(solver="vivace:omega=1.5")
    assert "unknown solver" in told.notices()[-1]


@pytest.mark.slow
def test_compare_runs_two_on_the_same_input(told):
    told.frames(5)
    told.tell(m.Change(compare="jacobi"))
    until(lambda: told.session.settings.compare == "jacobi")
    snapshot = told.frames(3)
    assert [view.used for view in snapshot.views][1] == "jacobi"
    told.change(gravity=3.0, budget_ms=2.0, stiffness=2.0, time_step=0.02)
    for sim in told.session.sims:
        np.testing.assert_allclose(sim.gravity, [0, -3, 0])
        assert (sim.budget.ms, sim.time_step) == (2.0, 0.02)
    told.tell(m.Grab(0, HALF_CLOTH, [0.0, 0.5, 0.0], snapshot.backdrop.number, told.order()))
    told.settle()
    assert [sim.grabbed for sim in told.session.sims] == [(HALF_CLOTH,)] * 2
    told.change(compare="")
    assert len(told.frames(2).views) == 1


@pytest.mark.slow
def test_a_comparison_starts_where_the_first_is(told):
    told.frames(20)
    told.tell(m.Change(compare="vivace", paused=True))
    until(lambda: told.session.settings.compare == "vivace")
    a, b = told.session.sims
    np.testing.assert_array_equal(a.positions, b.positions)
    np.testing.assert_array_equal(a.velocities, b.velocities)


@pytest.mark.slow
def test_pause_and_single_steps(told):
    told.frames(2)
    told.change(paused=True)
    before = sim_of(told).frames
    told.rounds()
    assert sim_of(told).frames == before
    for k in (1, 2):
        told.tell(m.Run("step"))
        until(lambda k=k: sim_of(told).frames == before + k)
    told.rounds()
    assert sim_of(told).frames == before + 2
    told.change(paused=False)
    told.frames(2)


@pytest.mark.slow
def test_reset(told):
    start = sim_of(told).positions
    told.frames(15)
    told.change(paused=True)
    assert np.abs(sim_of(told).positions - start).max() > 0.01
    told.tell(m.Run("reset"))
    until(lambda: told.session.newest.time <= 0.04)  # one step, so that it is seen
    assert np.abs(sim_of(told).positions - start).max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("colour_by", m.ColourBy.__args__)
def test_colour_by(told, colour_by):
    told.frames(2)
    told.change(colour_by=colour_by)
    assert told.frames(2).settings.colour_by == colour_by


@pytest.mark.slow
def test_a_reset_is_seen_however_soon_it_is_paused(told):
    """Both between the same two steps, so that none is made of the scene that begins anew but that of the reset."""
    told.frames(20)
    begin, pause = m.Run("reset"), m.Change(paused=True)
    told.session.call(lambda: [ACTIONS[type(message)](told.session, "1", message) for message in (begin, pause)])
    until(lambda: told.session.newest.time == pytest.approx(sim_of(told).time_step), "its first frame")
    shown = told.session.newest.views[0].report.positions[:, :3]
    np.testing.assert_array_equal(shown, sim_of(told).positions)


@pytest.mark.slow
def test_colour_by_is_seen_while_paused(told):
    told.frames(2)
    told.change(paused=True)
    number = told.session.newest.number
    told.change(colour_by="strain")
    assert told.session.newest.number > number
    assert told.session.newest.settings.colour_by == "strain"


@pytest.mark.slow
def test_another_scene(told):
    told.tell(m.LoadScene("bar"))
    until(lambda: told.session.scene.name == "bar")
    snapshot = told.frames(2)
    assert snapshot.backdrop.scene.name == "bar"
    assert snapshot.backdrop.number == 2
    assert told.session.settings.time_step == pytest.approx(1 / 30)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["barr", "../secret.toml", "/etc/passwd", "scene.toml", ""])
def test_scenes_are_loaded_by_name_only(told, name):
    told.tell(m.LoadScene(name))
    until(told.notices)
    assert told.session.scene.name == "tablecloth"


# --- pointers --------------------------------------------------------------------------------------------------------


def pull(told, vertex, target, pointer=0, client="1"):
    scene = told.session.newest.backdrop.number if told.session.newest else 1
    told.tell(m.Grab(pointer, vertex, list(target), scene, told.order()), client)


@pytest.mark.slow
def test_a_grabbed_vertex_goes_where_it_is_pulled(told):
    told.frames(3)
    for k, target in enumerate(([0.0, 0.2, -0.15], [0.1, 0.1, -0.2])):
        if k:
            told.tell(m.Drag(0, target, told.order()))
        else:
            pull(told, HALF_CLOTH, target)
        near = lambda at=target: np.linalg.norm(sim_of(told).positions[HALF_CLOTH] - at) < 0.03  # noqa: E731
        until(near, "the vertex at its target")
    told.tell(m.Release(0, told.order()))
    told.settle()
    assert sim_of(told).grabbed == ()


@pytest.mark.slow
def test_release_keeps_the_velocity(told):
    told.change(gravity=0.0, time_step=1 / 60)
    told.frames(2)
    pull(told, HALF_CLOTH, sim_of(told).positions[HALF_CLOTH])
    for k in range(12):
        told.tell(m.Drag(0, [0.0, 0.02 * k, 0.0], told.order()))
        told.frames(1)
    told.tell(m.Release(0, told.order()))
    told.settle()
    assert sim_of(told).velocities[HALF_CLOTH, 1] > 0.2


@pytest.mark.slow
def test_a_patch_moves_as_a_whole(told):
    told.change(grab_radius=0.2)
    told.frames(2)
    before = sim_of(told).positions
    pull(told, HALF_CLOTH, before[HALF_CLOTH] + [0, 0.3, 0])
    told.frames(12)
    held = sim_of(told).grabbed
    assert len(held) > 5
    moved = sim_of(told).positions[list(held)] - before[list(held)]
    np.testing.assert_allclose(moved - moved[0], 0, atol=0.06)
    assert told.session.newest.views[0].held == (HALF_CLOTH,)


@pytest.mark.slow
def test_two_pointers_and_two_clients(told):
    told.change(grab_radius=0.0)
    told.frames(2)
    pull(told, HALF_CLOTH, [0, 0.2, 0], pointer=0)
    pull(told, HALF_CLOTH + 3, [0.3, 0.2, 0], pointer=1)
    pull(told, 140, [0.5, 0, 0.5], client="2")
    told.settle()
    assert set(sim_of(told).grabbed) == {HALF_CLOTH, HALF_CLOTH + 3, 140}
    pull(told, 140, [0.5, 0, 0.5], pointer=2)
    told.settle()
    assert "another pointer" in told.notices()[-1]
    told.session.leave("1")
    told.settle()
    assert sim_of(told).grabbed == (140,)


@pytest.mark.slow
def test_orders_out_of_order_are_ignored(told):
    told.frames(1)
    scene = told.session.newest.backdrop.number
    told.tell(m.Drag(0, [0, 9, 0], 3))  # holds nothing
    told.tell(m.Grab(0, HALF_CLOTH, [0, 0.2, 0], scene, 2))  # overtaken
    told.settle()
    assert sim_of(told).grabbed == ()
    told.tell(m.Grab(0, HALF_CLOTH, [0, 0.2, 0], scene + 1, 10))  # of another scene
    told.tell(m.Release(0, 11))
    told.settle()
    assert sim_of(told).grabbed == ()
    assert told.frames(1).orders["1"] == 11


@pytest.mark.slow
def test_there_is_no_such_vertex(told):
    told.frames(1)
    pull(told, 10_000, [0, 0, 0])
    told.settle()
    assert "no vertex 10000" in told.notices()[-1]


@pytest.mark.slow
def test_nothing_explodes_when_it_is_flung(told):
    """A vertex dragged 10 m to and fro in single frames."""
    told.frames(2)
    pull(told, HALF_CLOTH, [0, 0, 0])
    for k in range(20):
        told.tell(m.Drag(0, [10.0 * (-1) ** k, 5.0, 0.0], told.order()))
        told.frames(1)
    told.tell(m.Release(0, told.order()))
    told.frames(30)
    assert np.isfinite(sim_of(told).positions).all()
    assert not told.notices()


# --- trouble ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_solver_that_loses_the_simulation_is_replaced():
    with running(solver="pbd-vivace:plain=True") as told:
        until(lambda: told.session.settings.solver == "auto")
        told.frames(3)
        assert any("lost the simulation" in text for text in told.notices())
        assert np.isfinite(sim_of(told).positions).all()


@pytest.mark.slow
def test_a_solver_that_cannot_touch_is_replaced():
    with running(Target("s0", {"scale": 0.01})) as told:
        told.tell(m.Change(solver="direct"))
        until(told.notices)
        told.frames(3)
        assert told.session.settings.solver in ("auto", "pbd-coloured")


@pytest.mark.slow
def test_the_first_step_is_announced(told):
    """It may have to compile for half a minute."""
    assert "compiled" in Session(SMALL, threads=1).state.busy
    told.frames(1)
    until(lambda: told.session.state.busy == "")
    until(lambda: any(isinstance(message, m.State) and message.busy == "" for message, _ in told.said))


@pytest.mark.slow
def test_no_watchers_no_work(told):
    told.frames(2)
    told.session.watchers = 0
    told.settle()  # a step that had begun is over
    before = sim_of(told).frames
    told.rounds()
    assert sim_of(told).frames == before
    told.session.watchers = 1
    told.settle()
    told.frames(2)


@pytest.mark.slow
def test_a_simulation_of_ones_own_is_shown_as_it_is():
    model = vv.Model.of(vv.mesh.cloth(8, 8)).pin("top")
    sim = vv.Simulation(model, solver="vivace:omega=1.7,refresh=2", budget=vv.Budget(iterations=5), threads=1)
    scene = vv.scenes.Scene("mine", model, sim.time_step, start=sim.positions)
    with running(Target("mine", {}), scene=scene, sim=sim) as told:
        told.frames(3)
        assert told.session.sims[0] is sim
        assert sim.budget.iterations == 5
        assert told.session.settings.solver == "vivace:refresh=2"
        assert told.session.settings.relaxation == 1.7


# --- choices ---------------------------------------------------------------------------------------------------------


def test_every_solver_offered_can_be_made():
    choices = solver_choices()
    assert [choice.name for choice in choices] == list(SOLVER_NAMES)
    for choice in choices:
        assert choice.summary
        solver = vv.solvers.make_solver(with_relaxation(choice.name, choice.most_relaxation))
        assert name_of(solver) == choice.name


def test_all_registered_solvers_are_offered():
    assert {name.partition("(")[0] for name in SOLVER_NAMES} == set(vv.SOLVERS)
