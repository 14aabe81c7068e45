"""Hands: a force that has an end, care for what is drawn out, slipping, colliders in the way, states."""

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Model, Simulation, State, mesh
from vivace.collisions import Box, Plane
from vivace.simulation import hands as hands_module

FAMILIES = ["auto", "vivace", "newton-multigrid", "descent", "pbd-coloured"]
SOFT = ["auto", "newton-multigrid", "descent"]  # those whose springs are as weak as the hand
WEIGHT = 0.3 * 9.81  # N, of the sheet


def sheet(n=9, pinned=False, **options) -> Model:
    """A horizontal cloth of a metre, 0.3 kg."""
    model = Model.of(mesh.cloth(n, n), Cloth(density=0.3, stretch=1e4), air=2.0, **options)
    return model.pin("top") if pinned else model


def held(sim, force, goal=(0.0, 0.0, 0.0), **options):
    """The nine vertices in the middle, `goal` away from where they are."""
    n = round(len(sim.positions) ** 0.5)
    middle = n // 2
    patch = [n * j + i for j in range(middle - 1, middle + 2) for i in range(middle - 1, middle + 2)]
    sim.grab(patch, sim.positions[patch] + np.array(goal), force=force, **options)
    return patch


def strain(sim) -> float:
    ends, rest = sim.positions[sim.model.mesh.edges], sim.model.mesh.vertices[sim.model.mesh.edges]
    length, own = (np.linalg.norm(e[:, 1] - e[:, 0], axis=1) for e in (ends, rest))
    return float(np.abs(length / own - 1).max())


def pull(sim, hand) -> np.ndarray:
    """What its springs pull with now (N): Σ w (target - q)."""
    rows = [sim.model.pinned.tolist().index(v) for v in hand.vertices]
    weights = sim.system.pin_weight[hand.vertices]
    return weights @ (sim.targets[rows] - sim.positions[hand.vertices])


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOFT)
def test_a_body_at_rest_hangs_by_its_weight(solver):
    """Σ w (target - q) = m g, whatever the force the hand could pull with; the goal is reached but for that."""
    sim = Simulation(sheet(), solver=solver, budget=Budget(iterations=400), threads=1)
    patch = held(sim, 40.0)
    for _ in range(100):
        sim.step()
    (hand,) = sim.hands
    np.testing.assert_allclose(pull(sim, hand), [0, WEIGHT, 0], atol=0.1 * WEIGHT)
    assert np.linalg.norm(sim.positions[patch].mean(axis=0) - hand.goals.mean(axis=0)) < 0.2 * hand.reach


@pytest.mark.parametrize("solver", SOFT)
def test_no_hand_pulls_with_more_than_its_force(solver):
    """|Σ w (target - q)| ≤ F when a step begins, however far the goal; one too weak for the weight never lifts it."""
    floor = sheet().collide([Plane((0, -0.01, 0))], thickness=0.004, itself=False)
    sim = Simulation(floor, solver=solver, budget=Budget(iterations=20), threads=1)
    held(sim, 0.5 * WEIGHT, (0, 0.5, 0))
    lifted = 0.0
    for _ in range(40):
        if not sim.hands:
            break
        sim.grab(sim.hands[0].vertices, sim.hands[0].goals)  # again: no more than a move
        before = sim.positions
        sim.step()
        if sim.hands:
            (hand,) = sim.hands
            rows = [sim.model.pinned.tolist().index(v) for v in hand.vertices]
            way = sim.targets[rows] - before[hand.vertices]
            weights = sim.system.pin_weight[hand.vertices]
            assert np.linalg.norm(weights @ way) <= hand.force * (1 + 1e-5)
        lifted = max(lifted, float(sim.positions[:, 1].min()))
    assert lifted < 0.01
    assert sim.hands == ()  # it gave up: the goal was out of reach
    assert len(sim.slipped) == 9 or sim.grabbed == ()


@pytest.mark.parametrize("solver", FAMILIES)
def test_what_cannot_come_is_let_go_before_it_tears(solver):
    """Pulled away from its pins by ten times its size: a pin would stretch it tenfold, a hand slips."""
    sim = Simulation(sheet(pinned=True), solver=solver, budget=Budget(iterations=20), threads=1)
    patch = held(sim, 60.0)
    worst, slipped = 0.0, ()
    for k in range(120):
        if sim.hands:
            sim.grab(patch, sim.model.mesh.vertices[patch] + np.array([0, 0, min(10.0, 0.2 * k)]))
        sim.step()
        slipped = slipped or sim.slipped
        worst = max(worst, strain(sim))
    assert sorted(slipped) == sorted(patch)
    assert sim.grabbed == ()
    assert worst < (1.0 if sim.solver.snaps_pins else 0.5)


@pytest.mark.parametrize("solver", FAMILIES)
def test_a_calm_hand_is_followed(solver):
    """At 30 cm/s the middle of the patch is within the way of a few steps of its goal, and nothing slips."""
    sim = Simulation(sheet(), solver=solver, budget=Budget(iterations=200), threads=1)
    patch = held(sim, 40.0)
    start = sim.positions[patch]
    for k in range(30):
        sim.grab(patch, start + np.array([0, 0.01 * (k + 1), 0]))
        sim.step()
    away = sim.positions[patch] - (start + np.array([0, 0.3, 0]))
    assert np.linalg.norm(away.mean(axis=0)) < 0.04
    assert sim.hands


@pytest.mark.parametrize("solver", ["auto", "pbd-coloured"])
def test_nothing_is_pulled_through_a_collider(solver):
    """Pressed through a board and the floor, and held there until it slips: no vertex ends inside either."""
    board, floor = Box((0, -0.05, 0), (0.4, 0.02, 0.4), rounding=0.01), Plane((0, -0.5, 0))
    model = sheet(17).collide([board, floor], thickness=0.006, itself=False)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=20), threads=1)
    for _ in range(10):
        sim.step()
    held(sim, 60.0, (0.0, -0.8, 0.0))
    for _ in range(40):
        sim.step()
        q = sim.positions.astype(float)
        assert min(board.distance(q).min(), floor.distance(q).min()) > -1e-4
    assert sim.hands == ()


def test_a_state_has_the_hands():
    """Copied in the middle of a pull, it goes on with the same bits, the moment of slipping included."""

    def make():
        return Simulation(sheet(pinned=True), budget=Budget(iterations=12), threads=1)

    def steps(sim, patch):
        found = []
        for k in range(60):
            if sim.hands and k < 10:
                sim.grab(patch, sim.model.mesh.vertices[patch] + np.array([0, 0.02 * k, 0.3 * k]))
            sim.step()
            found.append((sim.positions, sim.grabbed, sim.slipped))
        return found

    sim = make()
    sim.prepare()  # as a simulation is that runs when somebody grabs
    patch = held(sim, 30.0, (0.0, 0.1, 1.0), shares=np.arange(1.0, 10.0))
    for _ in range(5):
        sim.step()
    state = sim.state
    first = steps(sim, patch)
    assert any(slipped for _, _, slipped in first)
    sim.state = state
    again = steps(sim, patch)
    other = make()
    other.state = state
    elsewhere = steps(other, patch)
    for (a, grabbed, slipped), *others in zip(first, again, elsewhere, strict=True):
        for b, also_grabbed, also_slipped in others:
            np.testing.assert_array_equal(a, b)
            assert (grabbed, slipped) == (also_grabbed, also_slipped)


def test_a_state_with_hands_is_written_down(tmp_path):
    sim = Simulation(sheet(), budget=Budget(iterations=5), threads=1)
    sim.prepare()
    held(sim, 30.0, (0.0, 0.1, 0.0))
    sim.step()
    other = Simulation(sheet(), budget=Budget(iterations=5), threads=1)
    other.state = State.load(sim.state.save(tmp_path / "held.npz"))
    for one, two in zip(sim.hands, other.hands, strict=True):
        assert (one.force, one.care, one.torn, one.spent) == (two.force, two.care, two.torn, two.spent)
    for _ in range(5):
        sim.step()
        other.step()
        np.testing.assert_array_equal(sim.positions, other.positions)


def test_another_model_keeps_the_hand():
    sim = Simulation(sheet(), budget=Budget(iterations=5), threads=1)
    patch = held(sim, 30.0, shares=np.arange(1.0, 10.0))
    soft = sim.system.pin_weight[patch]
    sim.replace_model(sheet().stiffened(2.0))
    np.testing.assert_array_equal(sim.system.pin_weight[patch], soft)
    assert [hand.force for hand in sim.hands] == [30.0]
    sim.model = sheet()
    assert sim.hands == ()


def test_force_and_shares_are_stiffness():
    """w_i = share_i F ÷ reach; saying another force changes it, moving does not, and letting go of some neither."""
    sim = Simulation(sheet(), budget=Budget(iterations=5), threads=1)
    patch = held(sim, 30.0, shares=np.arange(1.0, 10.0))
    (hand,) = sim.hands
    assert hand.firm == 0
    expected = np.arange(1.0, 10.0) / 45.0 * 30.0 / hand.reach
    np.testing.assert_allclose(sim.system.pin_weight[patch], expected)
    sim.grab(patch, sim.positions[patch] + 0.1)
    np.testing.assert_allclose(sim.system.pin_weight[patch], expected)
    sim.grab(patch, sim.positions[patch], force=60.0)
    np.testing.assert_allclose(sim.system.pin_weight[patch], 2 * expected)
    sim.release(patch[:4])
    np.testing.assert_allclose(sim.system.pin_weight[patch[4:]], 2 * expected[4:])
    assert sim.grabbed == tuple(patch[4:])
    assert hand.reach >= hands_module.FASTEST * sim.time_step
    sim.step()
    sim.release()
    assert sim.hands == ()


def test_a_pin_in_a_hand_goes_home():
    sim = Simulation(sheet().pin([0, 8]), budget=Budget(iterations=20), threads=1)
    home = sim.targets.copy()
    sim.grab([8], sim.positions[[8]] + np.array([0, 0.2, 0.1]), force=50.0)
    for _ in range(30):
        sim.step()
    np.testing.assert_allclose(sim.positions[8], home[1] + [0, 0.2, 0.1], atol=0.02)
    sim.release()
    np.testing.assert_array_equal(sim.targets, home)


@pytest.mark.parametrize("force", [0, -1.0, np.nan, np.inf, 1e7, "strong", True])
def test_forces_that_make_no_sense_are_refused(force):
    sim = Simulation(sheet(), budget=Budget(iterations=5), threads=1)
    with pytest.raises(InputError, match="force of a hand must be positive"):
        sim.grab([1, 2], force=force)
    assert sim.grabbed == ()


def test_what_a_hand_cannot_take_is_refused():
    sim = Simulation(sheet(), budget=Budget(iterations=5), threads=1)
    with pytest.raises(InputError, match="shares are of a hand's force"):
        sim.grab([1, 2], shares=[1, 1])
    for shares, match in (([1, 0], "positive share"), ([1, 1, 1], "shares must"), ([1, np.nan], "shares must")):
        with pytest.raises(InputError, match=match):
            sim.grab([1, 2], force=5.0, shares=shares)
    assert sim.grabbed == ()
    sim.grab(1)
    with pytest.raises(InputError, match="vertex 1 is held exactly"):
        sim.grab([1, 2], force=5.0)
    sim.grab([2, 3], force=5.0)
    with pytest.raises(InputError, match="vertex 2 is held by a hand together with others"):
        sim.grab(2, (0, 0, 0))
    with pytest.raises(InputError, match="vertex 3 is held by a hand"):
        sim.grab([3, 4], force=5.0)
    assert sim.grabbed == (1, 2, 3)
