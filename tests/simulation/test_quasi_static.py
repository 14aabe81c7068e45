"""Steps without inertia: equilibria in closed form, what is refused, and what a step leaves behind."""

import numpy as np
import pytest

import vivace as vv
from vivace.hyperelastic import HYPERELASTIC, uniaxial

STATIC = {"integrator": "quasi-static", "threads": 1}
SIZE = (0.2, 0.1, 0.1)
MATERIALS = [
    (vv.stvk, 0.1), (vv.neo_hookean, 0.4), (vv.mooney_rivlin, 0.4), (vv.fung, 0.4), (vv.corotated, 0.4),
    (vv.stable_neo_hookean, 0.4),
]  # fmt: skip
# Of stvk the force falls where a bar becomes shorter than 0.58: there the homogeneous state is no minimum.
PULLED = [(*one, stretch) for one in MATERIALS for stretch in (0.7 if one[0] is vv.stvk else 0.4, 2.5)]


def hanging(material, shape=(5, 3, 3)):
    """A bar that hangs by its upper end."""
    bar = vv.mesh.bar(*shape, size=SIZE).transformed(rotate=(0, 0, -np.pi / 2))
    base = vv.Model.of(bar, material)
    return base.pin("left", stiffness=10 * base.pin_stiffness)


def face(mesh, name):
    """Shares of a face's vertices in its area."""
    on = np.isin(mesh.triangles, mesh.groups[name]).all(axis=1)
    a, b, c = mesh.vertices[mesh.triangles[on]].transpose(1, 0, 2)
    share = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    shares = np.bincount(mesh.triangles[on].ravel(), np.repeat(share, 3), minlength=mesh.n_vertices)
    return shares / shares.sum()


def length(mesh, q):
    return float((face(mesh, "left") - face(mesh, "right")) @ q[:, 1].astype(float))


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "newton-multigrid", "descent", "auto"])
def test_extension_of_a_hanging_bar(solver):
    """The stress at a height is the weight below it: extension = ∫ (λ(ρ g y) - 1) dy, λ from the uniaxial curve.

    Soft enough for a strain of 20 % at the top. Lumped masses are what the bar weighs, so that the sum over layers is
    the integral to second order in their height: 1/64 of the variation of λ.
    """
    material = vv.neo_hookean(young=1e4, poisson=0.0, density=1000)
    model = hanging(material)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=200), **STATIC)
    found = sim.equilibrium(within=1e-6)
    assert found.arrived
    assert found.unbalanced < 0.02 * found.load
    assert not sim.velocities.any()
    stretches = np.linspace(1.0, 1.5, 201)
    stresses = uniaxial(HYPERELASTIC["neo-hookean"], material.constants, stretches)[0]
    along = np.interp(1000 * 9.81 * SIZE[0] * np.linspace(0, 1, 401), stresses, stretches)
    extension = SIZE[0] * np.trapezoid(along - 1, dx=1 / 400)
    assert length(model.mesh, sim.positions) - SIZE[0] == pytest.approx(extension, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "direct", "multigrid", "vivace", "newton-multigrid", "descent"])
def test_solid_hangs_as_hooke_says(solver):
    """Projective solvers, ν = 0: a linear spring, extension = ρ g L²/(2 E)."""
    model = hanging(vv.Solid(1000, 1e4, 0.0))
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=300), **STATIC)
    sim.equilibrium(within=1e-6)
    expected = 1000 * 9.81 * SIZE[0] ** 2 / (2 * 1e4)
    assert length(model.mesh, sim.positions) - SIZE[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "poisson", "stretch"), PULLED, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("solver", ["newton-multigrid", "descent"])
def test_force_of_a_bar_between_grips(kind, poisson, stretch, solver):
    """Grips as wide as the bar wants to be carry P₁₁ area along it and nothing across: within 1 %.

    It starts with all its inner vertices displaced, so that the homogeneous state has to be found.
    """
    material = kind(young=1e5, poisson=poisson, conversion=False)
    density = HYPERELASTIC[material.energy_density]
    width = uniaxial(density, material.constants, [stretch])[1]
    bar = vv.mesh.bar(4, 3, 3, size=SIZE)
    base = vv.Model.of(bar, material, gravity=(0, 0, 0))
    firm = 10 * base.pin_stiffness
    model = base.pin(np.union1d(bar.groups["left"], bar.groups["right"]), stiffness=firm)
    final = bar.vertices * [stretch, width[0], width[0]]
    start = final + 0.1 * min(stretch, 1) * SIZE[0] / 3 * np.random.default_rng(0).uniform(-1, 1, final.shape)
    start[model.pinned] = final[model.pinned]
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=300), **STATIC)
    sim.positions, sim.targets = start, final[model.pinned]
    sim.equilibrium(within=1e-6, most=20)
    sides = np.sign(bar.vertices[model.pinned])
    forces = firm * (final - sim.positions)[model.pinned] * sides
    reached = 2 * np.mean(sim.positions[model.pinned, 0] * sides[:, 0]) / SIZE[0]  # grips give way a little
    assert reached == pytest.approx(stretch, rel=0.02)
    expected = uniaxial(density, material.constants, [reached])[0][0] * SIZE[1] * SIZE[2]
    assert forces[:, 0].sum() / 2 == pytest.approx(expected, rel=0.01)
    assert abs(forces[:, 1:].sum()) / 4 < 0.01 * abs(expected)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "newton-multigrid"])
def test_held_at_a_point_it_hangs_below_it(solver):
    """One pinned vertex leaves a body free to turn; without inertia it still finds the only stable place."""
    bar = vv.mesh.bar(4, 2, 2, size=SIZE)
    model = vv.Model.of(bar, vv.neo_hookean(young=1e5, poisson=0.3)).pin([0])
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=100), **STATIC)
    assert sim.equilibrium(most=30).arrived
    below = model.masses @ (sim.positions - sim.positions[0]) / model.masses.sum()
    assert below[1] < -0.09
    assert np.abs(below[[0, 2]]).max() < 1e-3


@pytest.mark.slow
def test_cloth_falls_to_where_it_hangs():
    """The cloth of the dynamics, let go and braked by air until it rests: the same place, or its mirror image."""
    cloth = vv.mesh.cloth(8, 8, plane="horizontal")
    model = vv.Model.of(cloth, vv.Cloth(0.2, 1e3, 1e-3)).pin("top-corners")
    sim = vv.Simulation(model, solver="newton-multigrid", budget=vv.Budget(iterations=100), **STATIC)
    assert sim.equilibrium(within=1e-5).arrived
    damped = vv.Model.of(cloth, vv.Cloth(0.2, 1e3, 1e-3), air=3.0).pin("top-corners")
    slow = vv.Simulation(damped, solver="newton-multigrid", budget=vv.Budget(iterations=40), time_step=0.2, threads=1)
    slow.substeps = 1
    for _ in range(100):
        slow.step()
    mine, theirs = (one.positions + np.array([0, 0, 0.5]) for one in (sim, slow))
    assert min(np.abs(mine - side * theirs).max() for side in ([1, 1, 1], [1, 1, -1])) < 1e-4
    assert sim.positions[:, 1].min() < -0.9


def test_free_bodies_are_refused():
    """Nothing changes, and a vertex that is grabbed makes it possible."""
    bar = vv.mesh.bar(3, 2, 2, size=SIZE)
    sim = vv.Simulation(vv.Model.of(bar, vv.neo_hookean(young=1e5, poisson=0.3)), **STATIC)
    before = sim.positions
    with pytest.raises(vv.InputError, match=r"nothing holds the model.*pin or grab"):
        sim.step()
    assert np.array_equal(sim.positions, before)
    assert sim.frames == 0
    sim.grab(0)
    assert sim.step(vv.Budget(iterations=4)).finite
    sim.release()
    with pytest.raises(vv.InputError, match="nothing holds"):
        sim.equilibrium()


def test_one_of_two_bodies_is_free():
    two = vv.mesh.join([vv.mesh.bar(3, 2, 2), vv.mesh.bar(3, 2, 2).transformed(translate=(0, 1, 0))])
    model = vv.Model.of(two, vv.Solid()).pin(two.groups["body-1"][:2])
    with pytest.raises(vv.InputError, match="nothing holds 12 vertices, 0 among them"):
        vv.Simulation(model, **STATIC).step()


def test_what_does_not_go_with_it():
    bar = vv.mesh.bar(3, 2, 2)
    model = vv.Model.of(bar, vv.Solid()).pin("left")
    for options, said in (({"form": "verlet"}, "velocity"), ({"guess": "adaptive"}, "inertia")):
        with pytest.raises(vv.InputError, match=said):
            vv.Simulation(model, **options, **STATIC)
    with pytest.raises(vv.InputError, match="contacts"):
        vv.Simulation(model.collide([vv.collisions.Plane()]), **STATIC)
    with pytest.raises(vv.InputError, match="position based"):
        vv.Simulation(model, solver="pbd-coloured", **STATIC).step()
    with pytest.raises(vv.InputError, match="quasi-static"):
        vv.Simulation(model).equilibrium()
    sim = vv.Simulation(model, **STATIC)
    for options in ({"within": 0.0}, {"most": 0}, {"within": float("nan")}):
        with pytest.raises(vv.InputError, match=next(iter(options))):
            sim.equilibrium(**options)


def test_energy_of_a_step_is_what_is_stored_less_work():
    """ε(q) - ε(q_n) = E(q) - E(q_n) - f·(q - q_n) + m |q - q_n|²/(2 HOLD²), and its gradient by differences."""
    model = vv.Model.of(vv.mesh.bar(3, 2, 2, size=SIZE), vv.Solid(1000, 1e4, 0.3), viscosity=0.1, air=2.0).pin("left")
    sim = vv.Simulation(model, solver="direct", budget=vv.Budget(iterations=2), **STATIC)
    sim.apply_forces(np.linspace(-1, 1, 3 * model.n).reshape(-1, 3))
    q = sim.positions.astype(float)
    report = sim.step()
    system, frame, forces = report.system, report.frame, np.linspace(-1, 1, 3 * model.n).reshape(-1, 3)
    load = forces + model.masses[:, None] * model.gravity
    np.testing.assert_allclose(frame.load, load, rtol=1e-6)
    np.testing.assert_array_equal(frame.s, q)
    there = q + np.random.default_rng(0).normal(0, 1e-2, q.shape)
    away = there - q
    pinned = 0.5 * system.pin_weight @ np.sum(away**2, axis=1)
    small = 0.5 * (model.masses @ np.sum(away**2, axis=1)) / 10.0**2
    expected = system.potential(there) - system.potential(q) - np.sum(load * away) + pinned + small
    assert system.energy(there, frame) - system.energy(q, frame) == pytest.approx(expected, rel=1e-6)
    d = np.random.default_rng(1).normal(size=q.shape)
    slope = (system.energy(there + 1e-6 * d, frame) - system.energy(there - 1e-6 * d, frame)) / 2e-6
    assert np.sum(system.gradient(there, frame) * d) == pytest.approx(slope, rel=1e-6)
    evaluate = system.around(q, system.constant(frame), frame)
    assert evaluate(there)[0] - evaluate(q)[0] == pytest.approx(expected, rel=1e-6)
    own = system.frame(q, np.ones_like(q), load / model.masses[:, None], q[model.pinned])
    np.testing.assert_allclose(system.constant(own), system.constant(frame), rtol=1e-6)


@pytest.mark.slow
def test_same_bits_from_a_state_and_with_more_threads():
    model = hanging(vv.neo_hookean(young=1e4, poisson=0.3))
    ends = []
    for threads in (1, 2):
        sim = vv.Simulation(
            model, integrator="quasi-static", budget=vv.Budget(iterations=8), threads=threads, solver="descent"
        )
        sim.step()
        state = sim.state
        sim.step()
        ends.append(sim.positions)
    sim.state = state
    sim.step()
    assert np.array_equal(sim.positions, ends[0])
    assert np.array_equal(*ends)


@pytest.mark.slow
def test_substeps_move_pins_in_parts():
    """The targets of a step of three parts are reached in thirds, as in steps of their own."""
    model = hanging(vv.neo_hookean(young=1e4, poisson=0.3))
    budget, moved = vv.Budget(iterations=60), np.array([0.3, 0.0, 0.0])
    parts = vv.Simulation(model, solver="newton-multigrid", budget=budget, substeps=3, **STATIC)
    steps = vv.Simulation(model, solver="newton-multigrid", budget=vv.Budget(iterations=20), **STATIC)
    assert steps.substeps == 1
    first = parts.targets
    parts.step(), steps.step()
    for _ in range(2):
        steps.step()
    parts.targets = first + moved
    parts.step()
    for k in range(3):
        steps.targets = first + (k + 1) / 3 * moved
        steps.step()
    np.testing.assert_allclose(parts.positions, steps.positions, atol=1e-5)


@pytest.mark.slow
def test_wind_presses_without_motion():
    """A sheet that hangs in the wind leans: tan(angle) = wind's force over its weight, in equilibrium."""
    cloth = vv.mesh.cloth(4, 4, 0.5, 0.5, plane="vertical")
    model = vv.Model.of(cloth, vv.Cloth(1.0, 1e3, 1e-1)).pin("top")
    sim = vv.Simulation(model, solver="newton-multigrid", budget=vv.Budget(iterations=60), **STATIC)
    sim.wind = (0.0, 0.0, 3.0)
    assert sim.equilibrium(most=100).arrived
    low = sim.positions[cloth.groups["bottom"]]
    angle = np.arctan2(low[:, 2].mean(), cloth.vertices[:, 1].max() - low[:, 1].mean())
    # ½ ρ C u² cos² on a plate that leans by `angle`, turned about its upper edge: half of both forces' moments
    assert np.sin(angle) == pytest.approx(0.5 * 1.2 * 1.17 * 9 * np.cos(angle) ** 2 / (1.0 * 9.81), rel=0.1)


@pytest.mark.slow
def test_scene_files_may_ask_for_it(tmp_path):
    """`[world] integrator`, and the same of `Scene.simulate`, which `vivace run --integrator` calls."""
    path = tmp_path / "still.toml"
    path.write_text('scene = "cube"\n[parameters]\nresolution = 3\n[world]\nintegrator = "quasi-static"\n')
    scene = vv.load_scene(path)
    assert scene.integrator == "quasi-static"
    sim = scene.simulate(threads=1)
    assert sim.system.static
    assert sim.step(vv.Budget(iterations=4)).finite
    assert not sim.velocities.any()
    assert vv.make_scene("cube", resolution=3).simulate(integrator="quasi-static").system.static
