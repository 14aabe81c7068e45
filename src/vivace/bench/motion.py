"""Motion: what people see of a simulation, and how far it is from another.

A `Trajectory` is where a body was and how fast, frame by frame, its start included. From one follow the heights of a
vertex, the total energy and the angular momentum over time; from two, the distance between them. `bench.converged`
makes the trajectories that others are measured against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..constraints import Role
from ..energy.system import System
from ..errors import InputError
from ..mesh.kernels.strain import edge_strain
from ..model.model import Model
from .statistics import finite_or_none, median

TIMES = (0.25, 0.5, 0.75, 1.0)  # seconds at which distances are told unless others are asked for


class Stretch(NamedTuple):
    """|length / rest length - 1| of the springs: mean, root of the mean square, largest."""

    mean: float
    rms: float
    largest: float


def stretch(model: Model, q: np.ndarray) -> Stretch | None:
    """How far the model's springs are from their rest lengths at positions `q` (n, 3); None of a model without any."""
    springs = [group for group in model.groups if group.kind.role is Role.SPRING]
    rest = np.concatenate([np.zeros(0), *(group.parameters[:, 0] for group in springs)])
    if not (rest > 0).any():
        return None
    ends = np.concatenate([group.vertices for group in springs])
    q = np.ascontiguousarray(q, np.float64)
    return Stretch(*map(float, edge_strain(q, ends, rest, np.zeros(len(q)))))


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Where a body was after each frame; frame 0 is the start.

    Attributes:
        positions: (f + 1, n, 3) float32, m.
        velocities: (f + 1, n, 3) float32, m/s: of the last step of each frame.
        time_step: seconds from frame to frame.
        steps: the time steps (substeps) that made each frame.
        settings: what made it, for the record.
    """

    positions: np.ndarray
    velocities: np.ndarray
    time_step: float
    steps: int = 1
    settings: Mapping[str, object] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many frames, the start among them."""
        return len(self.positions)

    @property
    def times(self) -> np.ndarray:
        """Simulated seconds (f + 1,)."""
        return self.time_step * np.arange(len(self))

    @property
    def label(self) -> str:
        """Its time step in words."""
        return step_label(self.time_step / self.steps)

    def first(self, frames: int) -> Trajectory:
        """The start and the first `frames` frames."""
        return Trajectory(
            *(self.positions[: frames + 1], self.velocities[: frames + 1], self.time_step, self.steps, self.settings)
        )

    def frame(self, time: float) -> int:
        """The frame nearest to a time (s)."""
        frame = round(time / self.time_step)
        if not 0 <= frame < len(self):
            raise InputError(f"the trajectory lasts from 0 to {self.times[-1]:g} s; there is nothing at {time:g} s")
        return frame


def step_label(h: float) -> str:
    """A time step in words, for tables and plots."""
    return f"h = {h * 1e3:.3g} ms"


def distance(a: Trajectory, b: Trajectory) -> np.ndarray:
    """RMS distance (m) between the vertices of two trajectories at each frame that both have.

    Infinite where one of them is not finite.
    """
    if a.positions.shape[1:] != b.positions.shape[1:] or not np.isclose(a.time_step, b.time_step, rtol=1e-9):
        raise InputError("two trajectories are compared vertex by vertex and frame by frame: both must be the same")
    frames = min(len(a), len(b))
    found = np.empty(frames)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(frames):  # one frame at a time: a long run of a large body in float64 is gigabytes
            away = a.positions[k].astype(np.float64) - b.positions[k]
            found[k] = np.sqrt(np.mean(np.sum(np.square(away), axis=1)))
    return np.where(np.isfinite(found), found, np.inf)


def lowest(reference: Trajectory) -> int:
    """The vertex that is lowest when the trajectory ends."""
    return int(np.argmin(reference.positions[-1, :, 1]))


def heights(trajectory: Trajectory, vertex: int) -> np.ndarray:
    """y (m) of a vertex at each frame."""
    return trajectory.positions[:, vertex, 1].astype(np.float64)


def energies(model: Model, trajectory: Trajectory) -> np.ndarray:
    """Kinetic, elastic and gravitational energy together (J) at each frame; what pins store is left out."""
    system = System(model, trajectory.time_step)
    found = np.empty(len(trajectory))
    with np.errstate(over="ignore", invalid="ignore"):
        for k, (q, v) in enumerate(_wide(trajectory)):
            kinetic = 0.5 * float(np.sum(model.masses[:, None] * np.square(v)))
            height = float(np.sum(model.masses * (q * model.gravity).sum(axis=1)))
            found[k] = kinetic - height + (system.potential(q) if np.isfinite(q).all() else np.inf)
    return np.where(np.isfinite(found), found, np.inf)


def angular_momenta(model: Model, trajectory: Trajectory) -> np.ndarray:
    """Σ m (q - c) x (v - u) about the centre of mass c with its velocity u (f + 1, 3), kg m²/s."""
    shares = model.masses[:, None] / model.masses.sum()
    found = np.empty((len(trajectory), 3))
    for k, (q, v) in enumerate(_wide(trajectory)):
        arm, speed = q - (shares * q).sum(axis=0), v - (shares * v).sum(axis=0)
        found[k] = (model.masses[:, None] * np.cross(arm, speed)).sum(axis=0)
    return found


def _wide(trajectory: Trajectory) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions and velocities of each frame in float64."""
    for q, v in zip(trajectory.positions, trajectory.velocities, strict=True):
        yield q.astype(np.float64), v.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Motion:
    """A run beside its references, frame by frame from the start on.

    Attributes:
        distance: RMS metres from the trajectory converged at the run's own step.
        fine: RMS metres from the converged trajectory of small steps, as far as that goes; None if there is none.
        low: height (m) of the vertex that is lowest when the reference ends.
        reference_low: the same of the reference.
        energy: kinetic, elastic and gravitational (J).
        reference_energy: the same of the reference.
        stretch: mean, RMS and largest of the last third of the frames; None of a body without springs.
        substeps: of a frame, the median over the run.
        reference: in words.
        asked: the times (s) at which distances are told.
    """

    times: np.ndarray
    distance: np.ndarray
    fine: np.ndarray | None
    low: np.ndarray
    reference_low: np.ndarray
    energy: np.ndarray
    reference_energy: np.ndarray
    stretch: Stretch | None
    substeps: int
    reference: str
    asked: tuple[float, ...]

    @property
    def frames(self) -> list[int]:
        """The frames of the times asked for; the last one, if the run ends before all of them."""
        return frames_at(self.asked, float(self.times[1] - self.times[0]), len(self.times) - 1)

    def at(self, values: np.ndarray) -> list[float | None]:
        """What a measure was at those frames; None beyond its end, and where it was not finite."""
        return [finite_or_none(values[k]) if k < len(values) else None for k in self.frames]

    def row(self) -> dict[str, object]:
        """The figures under the names that scripts rely on; metres, and fractions of a rest length."""
        frames, fine = self.frames, self.fine
        drawn = self.stretch or (None, None, None)
        return {
            "motion_reference": self.reference,
            "substeps": self.substeps,
            "motion_times_s": [float(round(self.times[k], 9)) for k in frames],
            "distance_m": self.at(self.distance),
            "distance_median_m": finite_or_none(median(self.distance[frames])),
            "fine_distance_m": None if fine is None else self.at(fine),
            "fine_distance_median_m": None
            if fine is None
            else finite_or_none(median([fine[k] for k in frames if k < len(fine)])),
            **dict(zip(("stretch_mean", "stretch_rms", "stretch_max"), map(finite_or_none, drawn), strict=True)),
            "lowest_m": finite_or_none(self.low[-1]),
            "lowest_reference_m": finite_or_none(self.reference_low[-1]),
        }


def frames_at(times: Sequence[float], time_step: float, frames: int) -> list[int]:
    """The frames nearest to some times, of a run of `frames`; the last one, where it ends before all of them."""
    found = sorted({round(time / time_step) for time in times})
    return [k for k in found if 1 <= k <= frames] or [frames]
