"""Bodies that touch: what stays outside, what is left when contacts end, who knows contacts, and their colours."""

from dataclasses import replace

import numpy as np
import pytest

from solvers.contact_lists import colliders_of
from vivace import Budget, Cloth, InputError, Jelly, Model, Simulation, Solid, mesh
from vivace.collisions.collider_contacts import penetration
from vivace.collisions.colliders import Box, Plane, Sphere
from vivace.collisions.contacts import ContactList, Contacts, feature_ids
from vivace.collisions.crossings import crossings
from vivace.colouring import is_valid_constraint_colouring
from vivace.solvers import make_solver

POSITIONAL = ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-vivace"]
PROJECTIVE = ["vivace", "lbfgs(multigrid)", "auto", "multigrid"]
G, H = 9.81, 1 / 30


# --- staying outside --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("iterations", [1, 5])
@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE, "chebyshev(pbd-jacobi)", "jacobi", "block-descent"])
def test_a_cloth_does_not_fall_through_a_thin_table(solver, iterations):
    """At 10 m/s a step of 33 ms is 33 cm, and the table top 1 cm thick: it stops, its whole thickness above it."""
    sheet = mesh.cloth(8, 8, 0.4, 0.4).transformed(translate=(0, 0.2, 0))
    table = Box((0, -0.005, 0), (0.5, 0.005, 0.5))
    model = Model.of(sheet, Cloth(density=0.3, stretch=1e3)).collide([table], itself=False, thickness=0.004)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=0.033, threads=1)
    sim.velocities = np.tile([0.0, -10.0, 0.0], (sheet.n_vertices, 1))
    for _ in range(12):
        report = sim.step()
        assert report.finite
        assert sim.positions[:, 1].min() >= 0.004 - 1e-5
    assert report.contacts >= sheet.n_vertices
    assert sim.positions[:, 1].max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*POSITIONAL, "vivace", "auto", "block-descent"])
def test_a_body_lands_and_stays(solver):
    """A soft cube on the floor: nothing comes nearer than the thickness, and it keeps its height.

    It comes to rest too, but for solvers whose corrections do not conserve momentum: they turn it about.
    """
    cube = mesh.cube(3, side=0.2).transformed(translate=(0, 0.2, 0))
    material = Jelly(density=500.0, stretch=2e3, volume=1e5) if solver in POSITIONAL else Solid(500.0, 2e4)
    model = Model.of(cube, material, air=1.0).collide([Plane()], itself=False, thickness=0.004)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=20), threads=1)
    for _ in range(60):
        assert sim.step().finite
        assert sim.positions[:, 1].min() >= 0.004 - 1e-5
    assert sim.positions[:, 1].min() < 0.0041
    assert 0.15 < sim.positions[:, 1].max() < 0.25
    if solver not in ("pbd-jacobi", "pbd-vivace"):
        assert np.abs(sim.velocities).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "multigrid", "newton-multigrid"])
def test_the_guard_of_surfaces_moves_nothing_into_a_collider(solver):
    """Steps of a second by three iterations: what folds is parted, but not into the floor or the ball."""
    sheet = mesh.cloth(14, 14, 1.0, 1.0).transformed(translate=(0, 0.65, 0))
    ball = Sphere((0, 0.3, 0), 0.3)
    model = Model.of(sheet, Cloth(stretch=1e4)).collide([Plane(), ball], thickness=0.008, friction=0.4)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=3), time_step=1.0, threads=1)
    stuck = 0
    for _ in range(12):
        stuck += sim.step().corrected
        assert penetration([Plane(), ball], sim.positions).max() <= 1e-4
        assert len(crossings(sim.positions, sheet.triangles)[0]) == 0
    assert stuck > 0


def two_cloths() -> Model:
    """One above the other, a little aside, so that both kinds of contacts occur; the lower is held at its corners."""
    lower = mesh.cloth(7, 7, 0.3, 0.3)
    upper = mesh.cloth(6, 6, 0.25, 0.25).transformed(rotate=[0, 0.3, 0], translate=(0.01, 0.02, 0.013))
    model = Model.of(mesh.join([lower, upper]), Cloth(density=0.3, stretch=500.0))
    return model.pin([0, 6, 42, 48]).collide(thickness=0.004, friction=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*POSITIONAL, "pbd-coloured:together=True", "vivace", "lbfgs(multigrid)", "auto"])
def test_cloths_do_not_pass_through_each_other(solver):
    """No edge pierces a triangle in any frame, by exact arithmetic; and they have met."""
    model = two_cloths()
    sim = Simulation(model, solver=solver, budget=Budget(iterations=10), threads=1)
    velocities = np.zeros((model.n, 3))
    velocities[49:, 1] = -2.0
    sim.velocities = velocities
    touched = 0
    for _ in range(25):
        report = sim.step()
        touched += report.contacts > 0
        assert report.finite
        assert len(crossings(sim.positions, model.mesh.triangles, 1)[1]) == 0
    assert touched > 10


# --- contacts that end ------------------------------------------------------------------------------------------------


def apart(model):
    """The bodies of a model stretched by a tenth and pulled 5 m apart: far from all contacts."""
    _, body = mesh.connected_components(model.n, model.mesh.edges)
    return 1.1 * model.mesh.vertices + np.outer(body + 2, [0, 5.0, 0])


@pytest.mark.parametrize(
    "solver", [*POSITIONAL, "pbd-coloured:together=True", "pbd-jacobi:alpha=0.1", *PROJECTIVE, "block-descent"]
)
@pytest.mark.parametrize("what", ["walls", "surfaces"])
def test_contacts_that_end_leave_nothing_behind(what, solver):
    """After contacts the solver gives the bits of one that never met any: shares, colours, diagonals are as before."""
    if what == "surfaces":
        model = two_cloths()
        model = replace(model, groups=tuple(group for group in model.groups if group.kind.name != "pin"))
        moved = model.mesh.vertices.copy()
        moved[49:, 1] = 0.003
    else:
        model = Model.of(mesh.cloth(6, 6, 0.3, 0.3), Cloth(stretch=500.0))
        model = model.collide([Plane((0, -0.003, 0))], itself=False)
        moved = model.mesh.vertices
    used, fresh = (Simulation(model, solver=solver, budget=Budget(iterations=5), threads=1) for _ in range(2))
    used.positions = moved
    for _ in range(3):
        assert used.step().contacts > 0
    away = apart(model)
    for sim in (used, fresh):
        sim.positions, sim.velocities = away, np.zeros_like(away)
    for _ in range(3):
        reports = [sim.step() for sim in (used, fresh)]
        assert [report.contacts for report in reports] == [0, 0]
        assert reports[0].colours == reports[1].colours
    np.testing.assert_array_equal(used.positions, fresh.positions)
    np.testing.assert_array_equal(used.velocities, fresh.velocities)


@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE, "block-descent", "direct", "newton", "lbfgs(direct)"])
@pytest.mark.parametrize("body", ["cloth", "solid"])
def test_colliders_that_are_never_met_change_nothing(solver, body):
    """The bits of the same model without colliders; for solvers that do not know contacts too. (auto takes finer cells
    for a model that has any, so it agrees to what they leave unconverged.) From the same first guess and in the same
    steps: left to themselves, models that may touch something have another guess, and under auto fewer substeps."""
    plain = Model.of(mesh.cloth(5, 5)) if body == "cloth" else Model.of(mesh.cube(3), Solid())
    plain = plain.pin([0])
    ready = plain.collide([Plane((0, -100.0, 0))], itself=False)
    results = []
    for model in (plain, ready):
        given = {"guess": "inertia", "substeps": 1, "threads": 1}
        sim = Simulation(model, solver=solver, budget=Budget(iterations=6), **given)
        for _ in range(4):
            sim.step()
        results.append(sim.positions)
    if solver == "auto":
        np.testing.assert_allclose(*results, atol=1e-3)
    else:
        np.testing.assert_array_equal(*results)


# --- who knows contacts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("direct", "solver 'direct' cannot follow contacts.*take auto, multigrid, vivace or a position based solver"),
        ("lbfgs(direct)", r"solver 'lbfgs\(direct\)' cannot follow contacts"),
        ("chebyshev(direct)", r"solver 'chebyshev\(direct\)' cannot follow contacts"),
        ("newton", "solver 'newton' does not know contacts"),
    ],
)
def test_solvers_that_cannot_follow_contacts_say_so(solver, message):
    """When there is one, and not before: nothing has moved then."""
    model = Model.of(mesh.cloth(4, 4)).collide([Plane((0, -0.1, 0))], itself=False)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=5), threads=1)
    for _ in range(2):  # 1 and 3 cm down, where it cannot meet anything in one step
        sim.step()
    sim.velocities = np.tile([0.0, -10.0, 0.0], (16, 1))
    before = sim.positions
    with pytest.raises(InputError, match=message):
        sim.step()
    np.testing.assert_array_equal(sim.positions, before)


def test_an_unprepared_solver_says_so():
    for name in ("pbd", "vivace"):
        with pytest.raises(InputError, match="has not been prepared"):
            make_solver(name).set_contacts(Contacts(), np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32))


def test_the_report_says_what_happened():
    """`contacts` as many as there are, the stages in order, and NaN for an error against a minimum that is none."""
    model = Model.of(mesh.cloth(4, 4)).collide([Plane((0, -0.003, 0))], itself=False)
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=5), threads=1)
    report = sim.step()
    assert list(report.stages)[:4] == ["predict", "collide", "colour", "solve"]
    assert list(report.stages)[-1] == "update"
    assert all(value >= 0 for value in report.stages.values())
    assert report.contacts == 16
    assert np.isnan(report.relative_error)
    sim.positions = 1.1 * sim.positions + np.float32(1)
    sim.velocities = np.zeros((16, 3))
    report = sim.step()
    assert report.contacts == 0
    assert np.isfinite(report.relative_error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thickness": 0.0}, "thickness of contacts must be positive"),
        ({"thickness": float("nan")}, "thickness of contacts must be positive"),
        ({"friction": -0.1}, "friction .*-0.1"),
        ({"friction": (0.2, 0.5)}, "friction .*static.*kinetic"),
        ({"friction": "rough"}, "friction .*'rough'"),
        ({"friction": (0.1, 0.1, 0.1)}, r"friction .*\(0.1, 0.1, 0.1\)"),
        ({"stiffness": 0.0}, "stiffness of contacts must be positive"),
        ({"colliders": ["floor"]}, "a collider is a Plane, Sphere, Box, Capsule or Sampled"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        Model.of(mesh.cloth(3, 3)).collide(**options)


def test_a_single_collider_needs_no_list():
    assert len(Model.of(mesh.cloth(3, 3)).collide(Plane()).collisions.colliders) == 1


# --- colours ----------------------------------------------------------------------------------------------------------


def touching_step(solver):
    model = two_cloths()
    sim = Simulation(model, solver=solver, budget=Budget(iterations=5), threads=2)
    sim.prepare()
    free = sim.solver.colours
    moved = model.mesh.vertices.copy()
    moved[49:, 1] = 0.003
    sim.positions = moved
    contacts = sim._detector.find(sim._motion.q, sim._motion.q, 1)
    assert len(contacts.surfaces) > 50
    return sim, free, contacts.surfaces, sim.step()


def test_vertices_of_a_contact_get_different_colours():
    """pbd-vivace recolours for the contacts of the step: all constraints, and all contacts, see four colours."""
    sim, free, pairs, report = touching_step("pbd-vivace")
    colours = sim.colouring.colours
    tables = [group.vertices for group in sim.model.groups if group.kind.name != "pin"] + [pairs.vertices]
    for table in tables:
        ordered = np.sort(colours[table], axis=1)
        assert (ordered[:, 1:] != ordered[:, :-1]).all()
    assert report.colours == sim.colouring.count > free


@pytest.mark.parametrize("together", [False, True])
def test_contacts_of_a_colour_share_no_vertex(together):
    """Every parallel phase of pbd-coloured visits each vertex once at most, constraints and contacts alike."""
    sim, free, _, report = touching_step(f"pbd-coloured:together={together}")
    solver = sim.solver
    assert report.colours > free or together
    for phase in solver._planned:
        if phase.kernel.__name__ == "push_walls" or phase.serial:
            continue
        width = 4 if phase.kernel.__name__ == "push_contacts" else _width(solver, phase)
        corners = phase.arrays["vertices"].reshape(-1, width)[phase.begin : phase.end]
        assert is_valid_constraint_colouring(corners, sim.model.n, np.zeros(len(corners), np.int32))
    if together:
        own = [group.vertices for group in sim.model.groups if group.kind.name != "pin"]
        assert is_valid_constraint_colouring(own, sim.model.n, solver.colouring.colours)


def _width(solver, phase):
    """Vertices of each constraint in a phase."""
    return next(item.group.kind.vertices for item in solver.listed if item.vertices is phase.arrays["vertices"])


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi", "pbd-vivace", "vivace"])
def test_threads_do_not_change_a_bit_with_contacts(solver):
    results = []
    for threads in (1, 2, 3):
        model = two_cloths()
        sim = Simulation(model, solver=solver, budget=Budget(iterations=4), threads=threads)
        for _ in range(12):
            report = sim.step()
        assert report.contacts > 0
        results.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert results[0] == results[1] == results[2]


# --- the arrays -------------------------------------------------------------------------------------------------------


def test_contacts_of_a_vertex_stand_together():
    walls = colliders_of(np.array([1, 1, 4, 7, 7, 7], np.int32))
    np.testing.assert_array_equal(walls.starts, [0, 2, 3, 6])
    np.testing.assert_array_equal(ContactList.none(1).starts, [0])
    assert len(Contacts()) == 0


def test_couples_are_all_pairs_of_a_contact():
    zeros = np.zeros((1, 4), np.float32)
    pairs = ContactList(np.array([[3, 1, 4, 5]], np.int32), zeros, zeros, zeros[:, :2], feature_ids([3], [0]))
    assert {tuple(sorted(pair)) for pair in pairs.couples.tolist()} == {(1, 3), (3, 4), (3, 5), (1, 4), (1, 5), (4, 5)}
