"""The tablecloth as a `flex` of MuJoCo. It runs in one thread: MuJoCo has none inside a step of one model.

The sheet is Saint Venant-Kirchhoff membrane and hinges, whose moduli are those of the springs' continuum (problem.py).
Its "discrete" integrator is implicit in position; with "equality", edges are constraints instead, as its manual
suggests for quick simulations. Air is a factor on velocities after each step, because vertices take no joint damping.
"""

from __future__ import annotations

import mujoco
from problem import FRAME_S, Problem, Running, fitting, serve, some

USUAL_S = 0.002  # its default step; its manual says 1 to 4 ms for cloth
MOST_STEPS = 16


def model_of(problem: Problem, substeps: int, *, equality: bool) -> mujoco.MjModel:
    young, poisson, thickness = problem.shell()
    points = " ".join(f"{x:.9g} {-z:.9g} {y:.9g}" for x, y, z in problem.vertices)  # z up
    elements = " ".join(str(k) for k in problem.triangles.ravel())
    pins = " ".join(str(k) for k in problem.pinned)
    if equality:
        options = 'integrator="implicitfast"'
        inner = '<edge equality="true"/>'
    else:
        options = 'integrator="discrete" solver="Newton" tolerance="1e-6"'
        inner = f'<elasticity young="{young}" poisson="{poisson}" thickness="{thickness}" elastic2d="both"/>'
    return mujoco.MjModel.from_xml_string(f"""
<mujoco>
  <option timestep="{FRAME_S / substeps}" gravity="0 0 {-problem.gravity}" {options}/>
  <size memory="2G"/>
  <worldbody>
    <flexcomp name="cloth" type="direct" dim="2" mass="{problem.density * problem.side**2}" radius="1e-4"
              point="{points}" element="{elements}">
      {inner}
      <contact contype="0" conaffinity="0" selfcollide="none"/>
      <pin id="{pins}"/>
    </flexcomp>
  </worldbody>
</mujoco>""")


def start(problem: Problem, substeps: int, *, equality: bool = False) -> Running:
    model = model_of(problem, substeps, equality=equality)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    keep = 1.0 / (1.0 + problem.air * FRAME_S / substeps)

    def frame() -> None:
        for _ in range(substeps):
            mujoco.mj_step(model, data)
            data.qvel *= keep

    def positions():
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        x = data.flexvert_xpos.reshape(-1, 3)
        return x[:, [0, 2, 1]] * (1.0, 1.0, -1.0)

    kind = "edge equality, implicitfast" if equality else "discrete, Newton"
    return Running(frame, positions, f"{kind}, {some(substeps, 'step')} of {1e3 * FRAME_S / substeps:.3g} ms")


def fit(problem: Problem):
    work = fitting(lambda k: start(problem, k), range(1, MOST_STEPS))
    return lambda: start(problem, work)


SETTINGS = {
    "discrete": lambda problem: lambda: start(problem, round(FRAME_S / USUAL_S)),
    "discrete-fit": fit,
    "equality": lambda problem: lambda: start(problem, round(FRAME_S / USUAL_S), equality=True),
}

if __name__ == "__main__":
    serve("MuJoCo flex", lambda: mujoco.__version__, SETTINGS, threads=1)
