"""The tablecloth by the cloth solvers of Newton, on Warp's CPU device, which runs kernels in one thread.

XPBD and VBD get our springs, and hinges by their angle, with the energy of ours for small angles. XPBD adds up what all
springs of a vertex want, neither averaged nor relaxed, so springs stiffer than about m/(3 h²) blow up: there they are
as stiff as they may be, and a row says so. Style3D has no springs: its triangles resist stretch along rows and columns,
and shear, with the moduli of the springs' continuum (problem.py); its bending is ours. Air is a factor on velocities
after each step. Nothing looks for contacts. The usual settings are those of its example cloth_hanging, which walks
frames of 1/60 s: two of them are ours.
"""

from __future__ import annotations

import newton
import numpy as np
import warp as wp
from problem import FRAME_S, Problem, Running, fitting, serve, some

wp.config.quiet = True
DEVICE = "cpu"
STYLE3D_KEEPS = 0.998  # of velocities, in every step, whatever its length: its own damping, which is taken back
STABLE = 0.25  # m/h²: the stiffest spring with which its XPBD is stable
SMALL_STEPS = 100  # of one iteration each, as in "Small steps in physics simulation"


@wp.kernel
def slow_down(velocities: wp.array(dtype=wp.vec3), share: float):
    k = wp.tid()
    velocities[k] = velocities[k] * share


def particles(problem: Problem) -> tuple[newton.ModelBuilder, list[float]]:
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -problem.gravity, 0.0))
    masses = problem.masses.copy()
    masses[problem.pinned] = 0.0
    return builder, masses.tolist()


def springs_and_hinges(problem: Problem, stretch: float, *, by_length: bool) -> newton.ModelBuilder:
    """`by_length`: the solver multiplies a hinge's stiffness by the length of its edge."""
    builder, masses = particles(problem)
    n = problem.n
    builder.add_particles(
        [wp.vec3(*x) for x in problem.vertices], [wp.vec3(0.0, 0.0, 0.0)] * n, masses, radius=[0.0] * n
    )
    for a, b in problem.edges.tolist():
        builder.add_spring(a, b, stretch, 0.0, control=0.0)
    stiffness, hinges = problem.hinge_stiffness(), problem.hinges
    if by_length:
        stiffness = stiffness / np.linalg.norm(problem.vertices[hinges[:, 0]] - problem.vertices[hinges[:, 1]], axis=1)
    builder.add_edges(
        *(hinges[:, k].tolist() for k in (2, 3, 0, 1)),
        rest=[0.0] * len(hinges),
        edge_ke=stiffness.tolist(),
        edge_kd=[0.0] * len(hinges),
    )
    return builder


def panels(problem: Problem) -> newton.ModelBuilder:
    """For Style3D."""
    from newton.solvers import style3d

    builder, masses = particles(problem)
    newton.solvers.SolverStyle3D.register_custom_attributes(builder)
    style3d.add_cloth_mesh(
        builder,
        pos=wp.vec3(0.0, 0.0, 0.0),
        rot=wp.quat_identity(),
        vel=wp.vec3(0.0, 0.0, 0.0),
        panel_verts=[wp.vec2(x, -z) for x, _, z in problem.vertices],
        panel_indices=problem.triangles.ravel().tolist(),
        vertices=[wp.vec3(*x) for x in problem.vertices],
        indices=problem.triangles.ravel().tolist(),
        density=problem.density,
        scale=1.0,
        particle_radius=0.0,
        tri_aniso_ke=wp.vec3(4 / 3 * problem.stretch, 4 / 3 * problem.stretch, problem.stretch / 2),
        tri_ka=0.0,
        tri_kd=0.0,
        edge_aniso_ke=wp.vec3(problem.bend, problem.bend, problem.bend),
        edge_kd=0.0,
    )
    builder.particle_mass[:] = masses
    return builder


def start(problem: Problem, kind: str, substeps: int, iterations: int) -> Running:
    wp.set_device(DEVICE)
    dt = FRAME_S / substeps
    if kind == "style3d":
        model = panels(problem).finalize()
        solver = newton.solvers.SolverStyle3D(model, iterations=iterations)
        solver.collision = None
    else:
        stretch = problem.stretch
        if kind == "xpbd":
            stretch = min(stretch, STABLE * float(np.median(problem.masses)) / dt**2)
        builder = springs_and_hinges(problem, stretch, by_length=kind == "vbd")
        if kind == "vbd":
            builder.color(include_bending=True)
        model = builder.finalize()
        maker = newton.solvers.SolverVBD if kind == "vbd" else newton.solvers.SolverXPBD
        solver = maker(model, iterations=iterations)
    model.particle_grid = None
    keep = 1.0 / (1.0 + problem.air * dt)
    if kind == "style3d":
        keep /= STYLE3D_KEEPS
    states, control = [model.state(), model.state()], model.control()

    def walk() -> None:
        for _ in range(substeps):
            states[0].clear_forces()
            solver.step(states[0], states[1], control, None, dt)
            wp.launch(slow_down, dim=model.particle_count, inputs=[states[1].particle_qd, keep])
            states.reverse()
        if substeps % 2:  # a recorded walk must end where it began
            states[1].assign(states[0])
            states.reverse()

    frame = walk
    if kind != "style3d":  # as in its example: launches are recorded once, where the solver can be
        wp.load_module(device=DEVICE)
        with wp.ScopedCapture() as capture:
            walk()
        graph = capture.graph

        def frame() -> None:
            wp.capture_launch(graph)

    name = {"style3d": "Style3D", "vbd": "VBD", "xpbd": "XPBD"}[kind]
    setting = f"{name}, {some(substeps, 'step')} x {some(iterations, 'iteration')}"
    if kind == "xpbd" and stretch < problem.stretch:
        setting += f", springs of {stretch:.2g} N/m"
    return Running(frame, lambda: states[0].particle_q.numpy().copy(), setting)


def usual(kind: str, substeps: int, iterations: int):
    return lambda problem: lambda: start(problem, kind, substeps, iterations)


def fit(kind: str, works):
    """Steps of one iteration; for Style3D, iterations of one step."""

    def settle(problem: Problem):
        def make(work: int) -> Running:
            return start(problem, kind, *((1, work) if kind == "style3d" else (work, 1)))

        work = fitting(make, works)
        return lambda: make(work)

    return settle


SETTINGS = {
    "style3d": usual("style3d", 4, 10),
    "style3d-fit": fit("style3d", range(1, 11)),
    "xpbd": usual("xpbd", 20, 10),
    "xpbd-small": usual("xpbd", SMALL_STEPS, 1),
    "xpbd-fit": fit("xpbd", [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 25, 30, 40, 60, 100, 200]),
    "vbd": usual("vbd", 20, 10),
    "vbd-fit": fit("vbd", [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 40]),
}

if __name__ == "__main__":
    serve("Newton", lambda: f"{newton.__version__} (Warp {wp.__version__})", SETTINGS, threads=1)
