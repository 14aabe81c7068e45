"""Trajectories that others are measured against: every step converged, in float64, by Newton's method.

Of large bodies that takes hours; theirs are made by many rounds of `lattice(multigrid)` in every step, of hyperelastic
ones by as many iterations of `newton-multigrid`. Measured on the
tablecloth of 1,600 vertices, these are 0.2 to 0.3 cm from Newton's after 0.25 to 1 s in steps of 33 ms, 0.2 to 0.8 cm
in steps of 8 ms and 0.1 to 0.9 cm in steps of 1 ms.

They take minutes, so they are kept in a folder (VIVACE_CACHE, or `vivace` in the user's cache folder) under a digest of
all that determines them; a longer one goes on where a shorter one ended. A file that is damaged is made again. Those
of hyperelastic bodies are not kept: no digest tells one density from another.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints import Role
from ..energy.system import System
from ..errors import FileError, InputError
from ..files import replacing
from ..hyperelastic.term import Hyperelastic
from ..scenes import Scene
from ..solvers import Budget
from ..solvers.reference import polish
from .motion import (
    TIMES,
    Motion,
    Trajectory,
    distance,
    energies,
    frames_at,
    heights,
    lowest,
)
from .run import Progress, Run, has_minimum
from .statistics import median

FINE = 1e-3  # s: steps so small that the time integration hardly damps
DRIFT = 3e-4  # m/s: what a step may leave in positions, divided by its length; a frame of 33 ms is right to 0.01 mm
MOST = 60  # Newton iterations of a step
FORMAT = 1
MOST_NEWTON = 4_000  # vertices up to which trajectories are Newton's
ROUNDS = 60, 10  # of a step in those of larger bodies: divided by the steps of a frame, and the least
MANY = 30  # times as many iterations where a solver is its own reference
WORTH_S = 2.0  # what takes less is not worth a file
EVERY_S = 60.0  # between two saves of one that is not finished


def is_solvable(scene: Scene) -> bool:
    """Whether Newton's method can make its trajectory: it knows neither contacts nor wind, and moves by implicit Euler.

    Nor are there trajectories of models with terms of their own, but for hyperelastic materials: they may depend on
    what only a simulation knows.
    """
    known = all(isinstance(term, Hyperelastic) for term in scene.model.terms)
    return has_minimum(scene) and not np.any(scene.wind) and known and scene.integrator != "quasi-static"


def fine_steps(time_step: float) -> int:
    """Steps of about FINE in a frame."""
    return max(1, round(time_step / FINE))


def converged(
    scene: Scene, frames: int, *, steps: int = 1, progress: Progress | None = None, keep: bool = True
) -> Trajectory:
    """The scene's motion with every step converged, `steps` of them a frame; kept on disk unless `keep` is off.

    That of hyperelastic bodies never is.
    """
    keep = keep and not scene.model.terms
    if frames < 1 or steps < 1:
        raise InputError(f"a trajectory needs at least one frame and one step a frame, not {frames!r} and {steps!r}")
    if not is_solvable(scene):
        raise InputError(f"{scene.name} has contacts, wind or terms of its own: there is no converged motion of those")
    path = cache_folder() / f"motion-{digest(scene, steps)}.npz"
    made = (_read(path, scene.model.n) if keep else None) or _Made.start(scene)
    if made.frames < frames:
        made = _extend(scene, made, frames, steps, path if keep else None, progress or (lambda what, done, total: None))
    settings = {
        "solver": "newton, float64",
        "time_step": scene.time_step / steps,
        "frames": frames,
        "iterations": made.iterations,
        "unsettled": made.unsettled,
    }
    return Trajectory(made.positions, made.velocities, scene.time_step, steps, settings).first(frames)


def itself(
    scene: Scene,
    solver: str,
    sweeps: int,
    frames: int,
    *,
    substeps: int = 1,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trajectory:
    """The motion by the solver under test with MANY times as many sweeps, where nothing else is converged.

    It is not kept: it depends on the solver.
    """
    many = MANY * max(1, sweeps)
    return _simulated(scene, solver, many, frames, substeps, threads=threads, seed=seed, progress=progress)


def _simulated(
    scene: Scene,
    solver: str,
    sweeps: int,
    frames: int,
    substeps: int,
    *,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trajectory:
    tell = progress or (lambda what, done, total: None)
    budget = Budget(iterations=sweeps)
    sim = scene.simulate(solver=solver, budget=budget, threads=threads, seed=seed, substeps=substeps)
    positions, velocities = [sim.positions], [sim.velocities]
    for k in range(1, frames + 1):
        sim.step()
        positions.append(sim.positions)
        velocities.append(sim.velocities)
        tell(f"{scene.name}: {solver} with {sweeps} sweeps a frame", k, frames)
    settings = {"solver": solver, "sweeps": sweeps, "time_step": scene.time_step}
    return Trajectory(np.array(positions), np.array(velocities), scene.time_step, substeps, settings)


def many_rounds(scene: Scene, frames: int, *, steps: int = 1, progress: Progress | None = None) -> Trajectory:
    """The scene's motion by so many rounds of a good solver in each step that more change little."""
    rounds = max(ROUNDS[0] // steps, ROUNDS[1])
    solver = "newton-multigrid" if scene.model.terms else "lattice(multigrid)"
    return _simulated(scene, solver, steps * rounds, frames, steps, progress=progress)


class References:
    """What runs of one scene are measured against: each trajectory is made once, when the first run needs it.

    Args:
        fine: also against steps of about FINE, as far as the last of `times`.
        times: seconds at which distances are told.
        newton: whether converged trajectories are Newton's; default: up to MOST_NEWTON vertices.
    """

    def __init__(
        self,
        scene: Scene,
        frames: int,
        *,
        fine: bool,
        times: Sequence[float] = TIMES,
        newton: bool | None = None,
        progress: Progress | None = None,
    ):
        self._newton = scene.model.n <= MOST_NEWTON if newton is None else newton
        by_value = any(group.kind.role is Role.POSITION for group in scene.model.groups)
        self._solvable = is_solvable(scene) and (self._newton or not by_value)  # `many_rounds` does not know those
        self.scene, self.frames, self.times, self._tell = scene, frames, tuple(times), progress
        self._fine = fine and self._solvable
        self._made: dict[tuple[int, int], Trajectory] = {}

    def motion(self, run: Run, solver: str, *, threads: int | None = None, seed: int = 0) -> Motion:
        """A recorded run beside them."""
        mine, model = run.trajectory(), self.scene.model
        if self._solvable:
            reference = self._converged(self.frames, run.substeps)
            words = f"converged, {reference.label}"
        else:
            sweeps = round(median(run.sweeps) or 1)
            reference = itself(
                *(self.scene, solver, sweeps, self.frames),
                substeps=run.substeps,
                threads=threads,
                seed=seed,
                progress=self._tell,
            )
            words = f"itself with {MANY} times as many sweeps, {reference.label}"
        fine = None
        if self._fine:
            last = frames_at(self.times, self.scene.time_step, self.frames)[-1]
            fine = distance(mine, self._converged(last, fine_steps(self.scene.time_step)))
        low = lowest(reference)
        return Motion(
            times=mine.times,
            distance=distance(mine, reference),
            fine=fine,
            low=heights(mine, low),
            reference_low=heights(reference, low),
            energy=energies(model, mine),
            reference_energy=energies(model, reference),
            stretch=run.drawn(),
            substeps=run.substeps,
            reference=words,
            asked=self.times,
        )

    def trajectory(self, substeps: int = 1) -> Trajectory:
        """The converged motion of the whole run with so many steps a frame."""
        return self._converged(self.frames, substeps)

    def _converged(self, frames: int, steps: int) -> Trajectory:
        if (frames, steps) not in self._made:
            make = converged if self._newton else many_rounds
            self._made[frames, steps] = make(self.scene, frames, steps=steps, progress=self._tell)
        return self._made[frames, steps]


def cache_folder() -> Path:
    """Where trajectories are kept; anything in it may be deleted."""
    named = os.environ.get("VIVACE_CACHE")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vivace"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vivace"


def digest(scene: Scene, steps: int) -> str:
    """Of all that determines a converged trajectory but its length, and of nothing else: not of the package."""
    model = scene.model
    start = model.mesh.vertices if scene.start is None else scene.start
    total = hashlib.sha256(f"{FORMAT} {steps} {DRIFT!r} {MOST}".encode())
    scalars = np.array([scene.time_step, model.air, model.viscosity])
    arrays = [scalars, model.gravity, model.masses, np.asarray(start, np.float32)]
    for group in model.groups:
        total.update(f"{group.kind.name} {group.kind.role.name} {len(group)}".encode())
        arrays += [group.vertices, group.operator, group.weights, group.parameters]
    for array in arrays:
        total.update(f"{array.shape} {array.dtype}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:24]


@dataclass(frozen=True, eq=False)
class _Made:
    """What there is of a trajectory, and the state in float64 from which it goes on."""

    positions: np.ndarray
    velocities: np.ndarray
    q: np.ndarray
    v: np.ndarray
    iterations: int
    unsettled: int

    @property
    def frames(self) -> int:
        return len(self.positions) - 1

    @classmethod
    def start(cls, scene: Scene) -> _Made:
        rows = np.asarray(scene.model.mesh.vertices if scene.start is None else scene.start, np.float32)
        still = np.zeros(rows.shape)
        return cls(rows[None], np.zeros_like(rows)[None], rows.astype(np.float64), still, 0, 0)


def _extend(scene: Scene, made: _Made, frames: int, steps: int, path: Path | None, tell: Progress) -> _Made:
    """Go on until there are `frames`; saved now and then, because it may take an hour."""
    model, h = scene.model, scene.time_step / steps
    system = System(model, h)
    pull = np.broadcast_to(model.gravity, (model.n, 3))
    q, v, iterations, unsettled = made.q, made.v, made.iterations, made.unsettled
    positions, velocities = list(made.positions), list(made.velocities)
    what = f"{scene.name}: converged motion, h = {h * 1e3:.3g} ms"
    begin = saved = time.monotonic()
    for k in range(made.frames, frames):
        tell(what, k, frames)
        for _ in range(steps):
            found = polish(system, system.frame(q, v, pull, model.targets), within=DRIFT * h, most=MOST)
            q, v = found.q, (found.q - q) / h
            iterations, unsettled = iterations + found.iterations, unsettled + (not found.converged)
        positions.append(q.astype(np.float32))
        velocities.append(v.astype(np.float32))
        now = time.monotonic()
        if path is not None and now - begin > WORTH_S and (now - saved > EVERY_S or k == frames - 1):
            _write(path, _Made(np.array(positions), np.array(velocities), q, v, iterations, unsettled))
            saved = now
    tell(what, frames, frames)
    return _Made(np.array(positions), np.array(velocities), q, v, iterations, unsettled)


def _write(path: Path, made: _Made) -> None:
    """Whole or not at all. A folder that cannot be written to costs the next run its time, but not this one."""
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            kept: dict[str, Any] = vars(made)
            np.savez(file, **kept)
    except (FileError, OSError) as error:
        warnings.warn(f"the converged motion is not kept: {error}; set VIVACE_CACHE to another folder", stacklevel=2)


def _read(path: Path, n: int) -> _Made | None:
    """What was kept; None where there is nothing, or where it is not whole."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            q, v = np.asarray(kept["q"]), np.asarray(kept["v"])
            positions, velocities = np.asarray(kept["positions"]), np.asarray(kept["velocities"])
            made = _Made(positions, velocities, q, v, int(kept["iterations"]), int(kept["unsettled"]))
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error):
        return None
    frames = len(positions) if positions.ndim == 3 else 0
    sound = frames > 0 and positions.shape == velocities.shape == (frames, n, 3) and q.shape == v.shape == (n, 3)
    return made if sound and np.isfinite(q).all() and np.isfinite(positions).all() else None
