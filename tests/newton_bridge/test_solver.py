"""SolverVivace inside Newton: its own examples, and equations that hold for any solver. Needs the extra `newton`."""

import logging
from importlib.util import find_spec

import numpy as np
import pytest

import vivace as vv

pytestmark = [
    pytest.mark.skipif(
        find_spec("newton") is None or find_spec("warp") is None, reason='newton is not installed: "vivace[newton]"'
    ),
    pytest.mark.slow,
]
H = 1 / 60


@pytest.fixture(scope="module")
def newton():
    import warp as wp

    wp.config.log_level = logging.WARNING
    wp.set_device("cpu")
    import newton

    return newton


def solver_of(model, **options):
    from vivace.newton import SolverVivace

    return SolverVivace(model, **options)


def at(x, y, z, turned=False):
    """Where a grid is; turned: its first axis points down."""
    import warp as wp

    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), wp.pi / 2) if turned else wp.quat_identity()
    return {"pos": wp.vec3(x, y, z), "rot": turn, "vel": wp.vec3(0.0)}


def sheet(newton, cells=8, fixed=True, **options):
    builder = newton.ModelBuilder()
    builder.add_cloth_grid(
        **at(0.0, 0.0, 2.0), dim_x=cells, dim_y=cells, cell_x=0.1,
        cell_y=0.1, mass=0.01, fix_left=fixed, tri_ke=1e3, tri_ka=1e3, tri_kd=0.0, edge_ke=1e-2, particle_radius=0.01,
        **options,
    )  # fmt: skip
    return builder


def steps(solver, model, count, dt=H):
    states = [model.state(), model.state()]
    for _ in range(count):
        solver.step(states[0], states[1], None, None, dt)
        states.reverse()
    return states[0]


def example_of(newton, module, *arguments):
    """One of Newton's examples, with our solver called once a frame."""
    from importlib import import_module

    import newton.viewer

    kind = import_module(f"newton.examples.cloth.{module}").Example

    class Ours(kind):
        def capture(self):
            self.graph = None  # ours runs on the host

    parser = getattr(kind, "create_parser", newton.examples.create_parser)()
    found = Ours(newton.viewer.ViewerNull(num_frames=1), parser.parse_args(["--viewer", "null", *arguments]))
    found.sim_substeps, found.sim_dt = 1, found.frame_dt
    return found


def test_the_hanging_cloth(newton):
    """Its own test_final: above the ground, within its volume; and no edge of it is torn."""
    import newton.examples

    example = example_of(newton, "example_cloth_hanging", "--width", "24", "--height", "8")
    example.solver = solver_of(example.model)
    for _ in range(90):
        example.step()
    example.test_final()
    q, fixed = example.state_0.particle_q.numpy(), example.model.particle_inv_mass.numpy() == 0
    np.testing.assert_array_equal(q[fixed], example.model.particle_q.numpy()[fixed])


def test_the_bending_cloth(newton):
    """A curved sheet falls on the ground, comes to rest near where it was, and keeps its curve."""
    pytest.importorskip("pxr", reason="the example reads a USD file")
    import newton.examples

    example = example_of(newton, "example_cloth_bending")
    example.solver = solver_of(example.model, air=2.0, thickness=0.05)
    before = np.ptp(example.state_0.particle_q.numpy(), axis=0)
    for _ in range(240):
        example.step()
    example.test_final()
    after = np.ptp(example.state_0.particle_q.numpy(), axis=0)
    assert after.min() > 0.2 * before.min()


def test_what_is_free_falls_as_a_stone(newton):
    """Without shapes and pins: z = -g h² k (k + 1)/2 of implicit Euler with steps of h/4, momentum as it was."""
    model = sheet(newton, fixed=False).finalize()
    state = steps(solver_of(model), model, 30)
    h, k = H / 4, 120
    fall = -9.81 * h * h * k * (k + 1) / 2
    moved = state.particle_q.numpy() - model.particle_q.numpy()
    rounding = 2.0**-23 * k * k / 2  # of positions of 2 m in every substep, which velocities keep
    np.testing.assert_allclose(moved, np.broadcast_to([0, 0, fall], moved.shape), atol=rounding)
    np.testing.assert_allclose(state.particle_qd.numpy()[:, 2].mean(), -9.81 * h * k, rtol=1e-3)


def test_a_hanging_spring_stretches_by_its_load(newton):
    """m g = k (l - l₀) at rest; what holds it is 300 times as stiff, and bears both ends."""
    import warp as wp

    builder = newton.ModelBuilder()
    builder.add_particle(wp.vec3(0.0), wp.vec3(0.0), 0.0)
    builder.add_particle(wp.vec3(0.0, 0.0, -1.0), wp.vec3(0.0), 0.5)
    builder.add_spring(0, 1, 200.0, 0.0, 0)
    model = builder.finalize()
    state = steps(solver_of(model, air=5.0), model, 200)
    assert state.particle_q.numpy()[1, 2] == pytest.approx(-1.0 - 0.5 * 9.81 / 200.0 * (1 + 2 / 300), abs=2e-5)


def test_a_hanging_sheet_stretches_by_its_load(newton):
    """A strip under its own weight: with μ = λ its modulus E is 4 μ (μ+λ)/(2 μ+λ) = 8/3 μ, and it gains ρ g L²/2E."""
    builder = newton.ModelBuilder()
    builder.add_cloth_grid(
        **at(0.0, 0.0, 0.0, turned=True), dim_x=20, dim_y=2,
        cell_x=0.05, cell_y=0.05, mass=0.01, fix_left=True, tri_ke=3e3, tri_ka=3e3, tri_kd=0.0, edge_ke=0.0,
    )  # fmt: skip
    model = builder.finalize()
    lowest = np.argmin(model.particle_q.numpy()[:, 2])
    density = model.particle_mass.numpy().sum() / 0.1  # of one square metre: fixed ones have no mass
    density = density * 21 / 20
    state = steps(solver_of(model, air=5.0, iterations=40), model, 150)
    gained = -1.0 - state.particle_q.numpy()[lowest, 2]
    assert gained == pytest.approx(density * 9.81 / (2 * 8e3), rel=0.06)


def test_fixed_particles_follow_what_is_written_and_others_can_be_thrown(newton):
    model = sheet(newton).finalize()
    solver, states = solver_of(model), [model.state(), model.state()]
    fixed = np.flatnonzero(model.particle_inv_mass.numpy() == 0)
    for _ in range(30):
        states[0].particle_q.numpy()[fixed, 1] += 0.01
        solver.step(states[0], states[1], None, None, H)
        states.reverse()
    q = states[0].particle_q.numpy()
    np.testing.assert_allclose(q[fixed, 1], model.particle_q.numpy()[fixed, 1] + 0.3, atol=1e-5)
    assert q[:, 1].mean() > model.particle_q.numpy()[:, 1].mean() + 0.15
    states[0].particle_qd.numpy()[:] = [0.0, -3.0, 0.0]
    free = np.setdiff1d(np.arange(len(q)), fixed)
    before = q[free, 1].mean()
    solver.step(states[0], states[1], None, None, H)
    assert states[1].particle_q.numpy()[free, 1].mean() == pytest.approx(before - 3 * H, abs=1.5 * H)


def test_forces_of_the_state_accelerate(newton):
    """An upward force of m g on every particle holds a free sheet where it is."""
    model = sheet(newton, fixed=False).finalize()
    solver, states = solver_of(model), [model.state(), model.state()]
    for _ in range(20):
        states[0].particle_f.numpy()[:] = model.particle_mass.numpy()[:, None] * [0, 0, 9.81]
        solver.step(states[0], states[1], None, None, H)
        states.reverse()
    np.testing.assert_allclose(states[0].particle_q.numpy(), model.particle_q.numpy(), atol=1e-4)


def test_cloth_lies_on_shapes_and_goes_with_those_that_move(newton):
    """On a box it stays above; a kinematic body under it lifts it at its own velocity."""
    import warp as wp

    builder = sheet(newton, fixed=False)
    body = builder.add_body(xform=wp.transform(wp.vec3(0.4, 0.4, 1.8), wp.quat_identity()), is_kinematic=True)
    builder.add_shape_box(body, hx=1.0, hy=1.0, hz=0.1)
    model = builder.finalize()
    solver, states = solver_of(model), [model.state(), model.state()]
    for frame in range(60):
        for state in states:
            state.body_q.numpy()[0, 2] = 1.8 + 0.5 * frame * H
            state.body_qd.numpy()[0, 2] = 0.5
        solver.step(states[0], states[1], None, None, H)
        states.reverse()
    top = 1.8 + 0.5 * 60 * H + 0.1
    heights = states[0].particle_q.numpy()[:, 2]
    np.testing.assert_allclose(heights, top + 0.01, atol=2e-3)
    np.testing.assert_allclose(states[0].particle_qd.numpy()[:, 2].mean(), 0.5, atol=0.05)


def test_tetrahedra_hang_and_keep_their_volume(newton):
    builder = newton.ModelBuilder()
    builder.add_soft_grid(
        **at(0.0, 0.0, 2.0), dim_x=4, dim_y=2, dim_z=2, cell_x=0.1,
        cell_y=0.1, cell_z=0.1, density=1e3, k_mu=1e5, k_lambda=1e6, k_damp=0.0, fix_left=True,
    )  # fmt: skip
    model = builder.finalize()
    state = steps(solver_of(model, air=5.0), model, 60)
    tets, q = model.tet_indices.numpy().reshape(-1, 4), state.particle_q.numpy().astype(float)
    volume = np.abs(np.linalg.det(q[tets[:, 1:]] - q[tets[:, :1]]).sum()) / 6
    assert volume == pytest.approx(0.4 * 0.2 * 0.2, rel=0.02)
    assert q[:, 2].min() < 2.0 - 1e-3


def test_observables_tell_how_far_from_solved(newton):
    """More iterations leave less; the residual is the gradient whose norm the report has."""
    model = sheet(newton).finalize()
    told = []
    for iterations in (4, 200):
        solver = solver_of(model, iterations=iterations, substeps=1)
        seen = solver.observables(solver.supported_observables)
        states = [model.state(), model.state()]
        for _ in range(6):
            solver.step(states[0], states[1], None, None, H, observables=seen)
            states.reverse()
        assert np.linalg.norm(seen.residual.numpy()) == pytest.approx(solver.report.gradient, rel=1e-3)
        assert seen.iterations.numpy()[0] == iterations
        told.append((float(seen.position_error.numpy()[0]), float(np.linalg.norm(seen.residual.numpy()))))
    assert told[1][0] < 0.3 * told[0][0]
    assert told[1][1] < told[0][1]


def test_reset_and_changed_models(newton):
    """After a reset the same steps come again, bit for bit; a changed model is felt."""
    model = sheet(newton).finalize()
    solver = solver_of(model)
    first = steps(solver, model, 5).particle_q.numpy().copy()
    state = model.state()
    solver.reset(state)
    np.testing.assert_array_equal(steps(solver, model, 5).particle_q.numpy(), first)
    model.tri_materials.numpy()[:, :2] *= 100
    solver.notify_model_changed(newton.ModelFlags.MODEL_PROPERTIES)
    assert np.abs(steps(solver, model, 5).particle_q.numpy() - first).max() > 1e-4


def test_what_it_cannot_do_is_said(newton):
    import warp as wp

    with pytest.raises(vv.InputError, match="no particles"):
        solver_of(newton.ModelBuilder().finalize())
    model = sheet(newton).finalize()
    solver, states = solver_of(model), [model.state(), model.state()]
    with pytest.raises(vv.InputError, match="captured"), wp.ScopedCapture(device="cpu"):
        solver.step(states[0], states[1], None, None, H)
