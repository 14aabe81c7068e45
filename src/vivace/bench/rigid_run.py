"""Run a scene of rigid bodies and measure it: what `vivace run` does with one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import InputError
from ..scenes import RigidScene
from ..simulation.rigid_simulation import RigidSimulation
from ..solvers import Budget
from ..solvers.rigid import ContactSolver
from .checkpoints import RunCheckpoints
from .frames import STAGE, FrameLog, Row, rigid_row
from .run import Progress, settle
from .statistics import median, percentile
from .tables import to_pandas, to_xarray

WARM_UP = 3  # steps of a throw-away simulation before anything is timed
TRACED = ("contacts", "iterations", "colours", "depth", "kinetic_energy", "residual", "late_ms")


@dataclass(eq=False)
class RigidRun:
    """What happened, frame by frame, and the numbers that sum it up.

    Attributes:
        scene: that was run.
        sim: after the last frame.
        ms: of every frame.
        stages_ms: detect, solve, apart and move, of every frame.
        trace: contacts, iterations, colours, depth (m), kinetic_energy (J), residual (N s) and late_ms of every frame.
        warm_up_s: before the first one.
        positions: (M, 3) centres of mass at the start and after each frame, in m, if recorded.
        orientations: (M, 4) unit quaternions, the scalar first, beside them.
        rows: all figures, frame by frame.
        wanted: frames that were asked for: more than there are, if the run was ended early.
        resumed: the frame that it went on from; 0: it was made in one go.
    """

    scene: RigidScene
    sim: RigidSimulation
    ms: np.ndarray
    stages_ms: dict[str, np.ndarray]
    trace: dict[str, np.ndarray]
    warm_up_s: float
    moved: np.ndarray  # (free bodies,) m from the start to the end
    positions: list[np.ndarray] = field(default_factory=list)
    orientations: list[np.ndarray] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    wanted: int = 0
    resumed: int = 0

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer frames than were asked for."""
        return len(self.ms) < self.wanted

    def to_pandas(self) -> Any:
        """All figures as a `pandas.DataFrame`, one line a frame; pip install "vivace[tables]"."""
        return to_pandas(self.rows)

    def to_xarray(self) -> Any:
        """All figures as an `xarray.Dataset` by frame, with recorded bodies; pip install "vivace[tables]"."""
        recorded = {"positions": ("body", self.positions[1:]), "orientations": ("body", self.orientations[1:])}
        return to_xarray(self.rows, recorded, self.settings())

    @property
    def finite(self) -> bool:
        """Whether all bodies are somewhere."""
        return bool(np.isfinite(self.sim.positions).all() and np.isfinite(self.sim.orientations).all())

    def summary(self) -> dict[str, object]:
        """The figures of the run under the names that scripts rely on."""
        trace = self.trace
        return {
            "frames": len(self.ms),
            "bodies": len(self.sim.bodies),
            "free_bodies": int(self.sim.bodies.movable.sum()),
            "contacts_median": median(trace["contacts"]),
            "contacts_most": int(trace["contacts"].max()),
            "contacts_end": int(trace["contacts"][-1]),
            "colours_most": int(trace["colours"].max()),
            "iterations_per_frame_median": median(trace["iterations"]),
            "ms_per_frame_median": median(self.ms),
            "ms_per_frame_p99": percentile(self.ms, 99),
            "late_ms_most": float(trace["late_ms"].max()),
            "stages_ms_median": {name: median(values) for name, values in self.stages_ms.items()},
            "depth_most": float(trace["depth"].max()),
            "depth_end": float(trace["depth"][-1]),
            "kinetic_energy_most": float(trace["kinetic_energy"].max()),
            "kinetic_energy_end": float(trace["kinetic_energy"][-1]),
            "moved_least": float(self.moved.min(initial=np.inf)) if len(self.moved) else None,
            "moved_median": median(self.moved),
            "moved_most": float(self.moved.max()) if len(self.moved) else None,
            "finite": self.finite,
            "warm_up_s": self.warm_up_s,
            "interrupted": self.interrupted,
            "resumed_from_frame": self.resumed,
            "settings": self.settings(),
        }

    def settings(self) -> dict[str, object]:
        """All that is needed to make this run again."""
        sim = self.sim
        options = {item.name: getattr(sim.solver, item.name) for item in fields(sim.solver) if item.init}
        return {
            "version": __version__,
            "scene": self.scene.name,
            **self.scene.settings,
            "solver": {"name": sim.solver.name, **options},
            "budget": {key: value for key, value in vars(sim.budget).items() if value is not None},
            "time_step": sim.time_step,
            "substeps": sim.substeps,
            "gravity": sim.gravity.tolist(),
            "frames": len(self.ms),
            "threads": sim.threads,
        }


def run_rigid(
    scene: RigidScene,
    *,
    solver: str | ContactSolver | None = None,
    budget: Budget | None = None,
    frames: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    substeps: int | None = None,
    record: bool = False,
    progress: Progress | None = None,
    checkpoints: RunCheckpoints | None = None,
    stop: Callable[[], bool] | None = None,
) -> RigidRun:
    """Simulate `frames` steps of a scene of rigid bodies, warm.

    Args:
        scene: of rigid bodies.
        solver: see `RigidScene.simulate`; as budget, threads, seed and substeps.
        budget: of a frame.
        frames: how many; by default the scene's own number.
        threads: by default one for each core.
        seed: of the colouring.
        substeps: of a frame.
        record: keep where the bodies were in every frame.
        progress: called with what is done, how much of it is, and how much there is.
        checkpoints: written while it runs, and gone on from.
        stop: asked after each frame whether to end with what there is.
    """
    if not isinstance(scene, RigidScene):
        raise InputError(f"run_rigid runs a RigidScene, not {type(scene).__name__}; for soft bodies there is run_scene")
    frames = scene.frames if frames is None else frames
    if frames < 1:
        raise InputError(f"a run needs at least one frame, not frames={frames!r}")
    tell = progress or (lambda what, done, total: None)
    make = partial(scene.simulate, solver=solver, budget=budget, threads=threads, seed=seed, substeps=substeps)

    tell("warming up", 0, 1)
    begin = time.perf_counter()
    warm = make()
    for _ in range(WARM_UP):
        warm.step()
    warm_up_s = time.perf_counter() - begin
    tell("warming up", 1, 1)

    sim = make()
    first, turned = sim.positions, sim.orientations
    log = FrameLog()
    if checkpoints is not None:
        checkpoints.begin(sim, _identity(scene, sim, record), log)
    settle()
    for k in range(len(log) + 1, frames + 1):
        start = time.perf_counter()
        report = sim.step()
        ms = 1e3 * (time.perf_counter() - start)
        arrays = {"positions": sim.positions, "orientations": sim.orientations} if record else {}
        log.add(rigid_row(report, sim.time, ms), arrays)
        if checkpoints is not None and checkpoints.after(sim, log, arrays):
            checkpoints.write(sim, log)
        tell("simulating", k, frames)
        if stop is not None and stop():
            break
    if checkpoints is not None:
        checkpoints.write(sim, log)
        checkpoints.close()
    return RigidRun(
        *(scene, sim, log.column("ms"), log.group(STAGE), {name: log.column(name) for name in TRACED}, warm_up_s),
        np.linalg.norm(sim.positions - first, axis=1)[sim.bodies.movable],
        positions=[first, *log.recorded["positions"]] if record else [],
        orientations=[turned, *log.recorded["orientations"]] if record else [],
        rows=log.rows,
        wanted=frames,
        resumed=0 if checkpoints is None else checkpoints.begun,
    )


def _identity(scene: RigidScene, sim: RigidSimulation, record: bool) -> dict[str, Any]:
    """What makes a run the one that it is, whatever its number of frames and threads."""
    data = sim.as_data()
    del data["bodies"]
    arrays = {name: data[name].tolist() for name in ("gravity", "contact_radius")}
    return {"scene": scene.name, **scene.settings, **data, **arrays, "recorded": record}
