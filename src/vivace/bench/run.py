"""Run a scene and measure it: what `vivace run` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..energy.system import Frame, System
from ..errors import InputError
from ..scenes import Scene, soft
from ..simulation.report import Report
from ..simulation.simulation import Simulation
from ..solvers import Budget, Solver
from .checkpoints import RunCheckpoints
from .frames import PHASE, STAGE, FrameLog, Row, soft_row
from .motion import Stretch, Trajectory, stretch
from .statistics import median, percentile
from .tables import to_pandas, to_xarray

WARM_UP = 3  # steps of a throw-away simulation before anything is timed
LARGEST_FOR_ERROR = 60_000  # vertices above which nobody wants to wait for the converged reference by default

Progress = Callable[[str, int, int], None]  # what, done, total


@dataclass(eq=False)
class Run:
    """What happened, frame by frame, and the numbers that sum it up."""

    scene: Scene
    sim: Simulation
    ms: np.ndarray
    sweeps: np.ndarray
    ms_per_sweep: np.ndarray
    stages: dict[str, float]  # median milliseconds
    phases: dict[str, float]  # of the solve stage, by what was done in it
    errors: dict[int, float]  # frame -> relative error
    stretch: np.ndarray | None  # (frames, 3): mean, RMS and largest of the springs, see `bench.motion`
    finite: bool
    warm_up_s: float
    positions: Sequence[np.ndarray] = field(default_factory=list)  # (n, 3) float32 after each frame, if recorded
    gradients: dict[int, float] = field(default_factory=dict)  # frame -> norm of ∇ε relative to the first guess's
    notes: dict[str, int] = field(default_factory=dict)  # what the solver reported -> in how many frames
    trace: dict[str, np.ndarray] = field(default_factory=dict)  # contacts, colours, corrected vertices of every frame
    stages_ms: dict[str, np.ndarray] = field(default_factory=dict)  # of every frame
    velocities: Sequence[np.ndarray] = field(default_factory=list)  # beside the positions
    substeps: int = 1  # of a frame, the median
    # Of the rigid bodies that the model touches, beside the positions: (B, 3) and (B, 4) after each frame.
    body_positions: Sequence[np.ndarray] = field(default_factory=list)
    body_orientations: Sequence[np.ndarray] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)  # all figures, frame by frame
    wanted: int = 0  # frames that were asked for: more than there are, if the run was ended early
    resumed: int = 0  # the frame that it went on from; 0: it was made in one go

    @property
    def first(self) -> np.ndarray:
        """(n, 3) float32 positions at the start."""
        return np.asarray(self.scene.model.mesh.vertices if self.scene.start is None else self.scene.start, np.float32)

    def trajectory(self) -> Trajectory:
        """The start and every frame, of a recorded run."""
        positions = np.array([self.first, *self.positions])
        velocities = np.array([np.zeros_like(positions[0]), *self.velocities])
        return Trajectory(positions, velocities, self.scene.time_step, self.substeps, self.settings())

    def summary(self) -> dict[str, object]:
        """The figures of the run under the names that scripts rely on."""
        drawn = self.drawn()
        return {
            "frames": len(self.ms),
            "sweeps_per_frame_median": median(self.sweeps),
            "ms_per_frame_median": median(self.ms),
            "ms_per_frame_p99": percentile(self.ms, 99),
            "ms_per_sweep_median": median(self.ms_per_sweep),
            "colours": self.sim.solver.colours,
            "relative_error_median": median(list(self.errors.values())),
            "stretch_mean": drawn.mean if drawn else None,
            "stretch_rms": drawn.rms if drawn else None,
            "stretch_max": drawn.largest if drawn else None,
            "finite": self.finite,
            "solver_used": self.sim.solver.used,
            "notes": self.notes,
            "vertices": self.sim.model.n,
            "triangles": len(self.sim.model.mesh.triangles),
            "tets": len(self.sim.model.mesh.tets),
            "constraints": {g.kind.name: len(g) for g in self.sim.model.groups},
            "stages_ms_median": self.stages,
            "phases_ms_median": self.phases,
            **self._touching(),
            "warm_up_s": self.warm_up_s,
            "interrupted": self.interrupted,
            "resumed_from_frame": self.resumed,
            "settings": self.settings(),
        }

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer frames than were asked for."""
        return len(self.ms) < self.wanted

    def to_pandas(self) -> Any:
        """All figures as a `pandas.DataFrame`, one line a frame; pip install "vivace[tables]"."""
        return to_pandas(self.rows)

    def to_xarray(self) -> Any:
        """All figures as an `xarray.Dataset` by frame, with what was recorded; pip install "vivace[tables]"."""
        recorded = {
            "positions": ("vertex", self.positions), "velocities": ("vertex", self.velocities),
            "body_positions": ("body", self.body_positions), "body_orientations": ("body", self.body_orientations),
        }  # fmt: skip
        return to_xarray(self.rows, recorded, self.settings())

    def drawn(self) -> Stretch | None:
        """The stretch of the last third of the frames; None without springs."""
        if self.stretch is None:
            return None
        mean, root, largest = self.stretch[len(self.stretch) * 2 // 3 :].T
        with np.errstate(over="ignore", invalid="ignore"):
            return Stretch(float(mean.mean()), float(np.sqrt(np.square(root).mean())), float(largest.max()))

    def _touching(self) -> dict[str, object]:
        """How many contacts there were, and what colours and recolouring came of them; for models that may touch."""
        if self.scene.model.collisions is None:
            return {}
        colours = self.trace["colours"]
        return {
            "contacts_median": median(self.trace["contacts"]),
            "contacts_most": int(self.trace["contacts"].max()),
            "colours_least": int(colours.min()),
            "colours_most": int(colours.max()),
            "recolouring_ms_median": median(self.stages_ms["colour"]),
            "corrected_most": int(self.trace["corrected"].max()),
        }

    def settings(self) -> dict[str, object]:
        """All that is needed to make this run again."""
        sim = self.sim
        options = {key: value for key, value in vars(sim.solver).items() if key in _fields(sim.solver)}
        return {
            "version": __version__,
            "scene": self.scene.name,
            **self.scene.settings,
            "solver": {"name": sim.solver.name, **options},
            "budget": {key: value for key, value in vars(sim.budget).items() if value is not None},
            "time_step": sim.time_step,
            "substeps": self.substeps,
            "integrator": sim.integrator,
            "frames": len(self.ms),
            "threads": sim.threads,
            "seed": sim.seed,
        }


def run(
    scene: Scene,
    *,
    solver: str | tuple[str, dict[str, Any]] | Solver | None = None,
    budget: Budget | None = None,
    frames: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    error_samples: int | None = None,
    substeps: int | str | None = None,
    integrator: str | None = None,
    record: bool = False,
    spool: Path | None = None,
    progress: Progress | None = None,
    checkpoints: RunCheckpoints | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Simulate `frames` steps, warm; measure the relative error of `error_samples` of them afterwards.

    `record`: keep positions and velocities of all frames. `spool`: a folder, for positions on its disk instead, in a
    file without a name: then memory does not grow with the number of frames.
    `checkpoints`: written while it runs, and gone on from; errors are then measured before each. `stop`: asked after
    each frame whether to end with what there is.
    """
    scene = soft(scene)
    frames = scene.frames if frames is None else frames
    if error_samples is None:
        error_samples = 5 if scene.model.n <= LARGEST_FOR_ERROR and has_minimum(scene) else 0
    if frames < 1:
        raise InputError(f"a run needs at least one frame, not frames={frames!r}")
    tell = progress or (lambda what, done, total: None)

    tell("warming up", 0, 1)
    begin = time.perf_counter()
    make = partial(scene.simulate, solver=solver, budget=budget, threads=threads, seed=seed, substeps=substeps)
    warm = make(integrator=integrator)
    warm.prepare(wait=True)
    for _ in range(WARM_UP):
        warm.step()
    warm_up_s = time.perf_counter() - begin
    tell("warming up", 1, 1)

    sim = make(integrator=integrator)
    tell("preparing", 0, 1)
    sim.prepare(wait=True)
    tell("preparing", 1, 1)
    log, sampled = FrameLog(spool), dict[int, Report]()
    if checkpoints is not None:
        checkpoints.begin(sim, _identity(scene, sim, record), log)
    settle()
    chosen = set(sampled_frames(frames, error_samples))
    for k in range(len(log) + 1, frames + 1):
        report = sim.step()
        arrays = _recorded(sim, report, spool is None) if record else {}
        log.add(soft_row(report, sim.time, stretch(scene.model, report.positions)), arrays)
        if k in chosen:
            sampled[k] = report
        if checkpoints is not None and checkpoints.after(sim, log, arrays):
            _measure(sampled, log, tell)
            checkpoints.write(sim, log)
        tell("simulating", k, frames)
        if stop is not None and stop():
            break
    _measure(sampled, log, tell, stop)
    if checkpoints is not None:
        checkpoints.write(sim, log)
        checkpoints.close()
    return _summed_up(scene, sim, log, warm_up_s, frames, checkpoints)


def _recorded(sim: Simulation, report: Report, velocities: bool) -> dict[str, np.ndarray]:
    """What is kept of a frame to be looked at later; files need no velocities."""
    found = {"positions": report.positions.copy()}
    if velocities:
        found["velocities"] = sim.velocities
    if report.bodies is not None:
        found |= {"body_positions": report.bodies.positions, "body_orientations": report.bodies.orientations}
    return found


def _measure(sampled: dict[int, Report], log: FrameLog, tell: Progress, stop: Callable[[], bool] | None = None) -> None:
    """The errors of the frames that were chosen for it, into their rows; then these frames are forgotten."""
    for done, (k, report) in enumerate(sampled.items(), 1):
        if stop is not None and stop():
            break
        error = report.relative_error
        if not np.isnan(error):  # NaN: a frame with nothing to solve, such as free flight
            gradient = relative_gradient(report.system, report.frame, report.positions.astype(np.float64))
            log.rows[k - 1] |= {"relative_error": error, "relative_gradient": gradient}
        tell("measuring the error", done, len(sampled))
    sampled.clear()


def _summed_up(
    scene: Scene, sim: Simulation, log: FrameLog, warm_up_s: float, wanted: int, checkpoints: RunCheckpoints | None
) -> Run:
    stages, phases = log.group(STAGE), log.group(PHASE)
    drawn = np.column_stack([log.column(f"stretch_{name}") for name in ("mean", "rms", "max")])
    return Run(
        *(scene, sim, log.column("ms"), log.column("sweeps"), log.column("ms_per_sweep")),
        {name: median(values) or 0.0 for name, values in stages.items()},
        {name: median(values) or 0.0 for name, values in phases.items()},
        errors=log.marked("relative_error"),
        stretch=None if log.rows[0]["stretch_mean"] is None else drawn,
        finite=bool(log.column("finite").all()),
        warm_up_s=warm_up_s,
        gradients=log.marked("relative_gradient"),
        notes=log.counted("note"),
        trace={name: log.column(name) for name in ("contacts", "colours", "corrected")},
        stages_ms=stages,
        substeps=round(median(log.column("substeps")) or 1),
        rows=log.rows,
        wanted=wanted,
        resumed=0 if checkpoints is None else checkpoints.begun,
        positions=log.recorded.get("positions", []),
        velocities=log.recorded.get("velocities", []),
        body_positions=log.recorded.get("body_positions", []),
        body_orientations=log.recorded.get("body_orientations", []),
    )


def _identity(scene: Scene, sim: Simulation, record: bool) -> dict[str, Any]:
    """What makes a run the one that it is, whatever its number of frames and threads."""
    data = sim.as_data()
    del data["model"]
    start = None if scene.start is None else np.asarray(scene.start).tolist()
    return {"scene": scene.name, **scene.settings, **data, "start": start, "recorded": record}


def has_minimum(scene: Scene) -> bool:
    """Whether a step has a minimum to be compared with: friction has no potential."""
    return scene.model.collisions is None


def sampled_frames(frames: int, samples: int) -> list[int]:
    """`samples` different frames (all, if there are fewer) spread over 1..frames, the last among them."""
    samples = min(samples, frames)
    return [-(-k * frames // samples) for k in range(1, samples + 1)]


def settle(most_s: float = 0.5) -> None:
    """Wait until no thread of this process is busy.

    NumPy's BLAS keeps its threads spinning for a tenth of a second after a product of long vectors, such as an energy
    in float64, on the cores whose work is about to be timed.
    """
    end = time.perf_counter() + most_s
    spent = 1.0
    while spent > 0.002 and time.perf_counter() < end:
        before = time.process_time()
        time.sleep(0.01)
        spent = time.process_time() - before


def relative_gradient(system: System, frame: Frame, q: np.ndarray) -> float:
    """‖∇ε(q)‖ / ‖∇ε(q⁰)‖, q⁰ the first guess. Infinite when q is not finite, NaN where there is nothing to solve."""
    if not np.isfinite(q).all():
        return float("inf")
    first = float(np.linalg.norm(system.gradient(frame.start, frame)))
    return float(np.linalg.norm(system.gradient(q, frame))) / first if first else float("nan")


def _fields(solver: Solver) -> set[str]:
    return set(getattr(type(solver), "__dataclass_fields__", {}))
