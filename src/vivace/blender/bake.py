"""A bake: frames of a cloth in, a point cache out, one step after the other, so that somebody can watch and stop it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..caches.writing import Cache
from ..checks import as_numbers, check_flag, is_number, is_whole, real_array, shown
from ..errors import InputError
from ..mesh import Mesh
from ..model import Cloth, Model
from ..model.fabrics import Fabric, fabric
from ..simulation import Report, Simulation
from ..solvers import Budget
from .colliders import Track, as_colliders

FIRM = 0.999  # weight of a pin from which it holds for good
LOOSE = 1e-3  # ... and below which it does not hold at all
FLAT = 1e-10  # of the square of a triangle's sides, below which it has no area


@dataclass(frozen=True)
class Settings:
    """What the panel says.

    Attributes:
        fabric: by name (`vivace list fabrics`); "CUSTOM": of density, stretch and bend.
        density: kg/m².
        stretch: N/m.
        bend: N·m.
        damping: rate at which it loses its motion (1/s); None: the fabric's.
        limit: "ITERATIONS" or "TIME", what ends a frame.
        iterations: of a frame.
        milliseconds: of a frame.
        substeps: of a frame; 0: left to the solver.
        self_contact: whether the cloth touches itself.
        thickness: distance that contacts keep (m).
        friction: against itself; collision objects have their own.
        gravity: (3,) m/s².
    """

    fabric: str = "cotton"
    density: float = 0.2
    stretch: float = 1e3
    bend: float = 1e-5
    damping: float | None = None
    limit: str = "ITERATIONS"
    iterations: int = 16
    milliseconds: float = 33.0
    substeps: int = 4
    self_contact: bool = True
    thickness: float = 0.004
    friction: float = 0.4
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)

    def __post_init__(self) -> None:
        for name in ("density", "stretch", "thickness", "milliseconds"):
            value = getattr(self, name)
            if not is_number(value) or not value > 0:
                raise InputError(f"{name} must be positive, not {shown(value)}")
        if not is_whole(self.substeps) or not 0 <= self.substeps <= 100:
            raise InputError(f"substeps must be a whole number from 0 to 100, not {shown(self.substeps)}")
        if self.limit not in ("ITERATIONS", "TIME"):
            raise InputError(f"limit must be ITERATIONS or TIME, not {shown(self.limit)}")
        check_flag("self_contact", self.self_contact)
        as_numbers("gravity", self.gravity, (3,))

    @property
    def material(self) -> Fabric:
        """What the cloth is made of."""
        if self.fabric == "CUSTOM":
            plain = Cloth(self.density, self.stretch, self.bend)
            return Fabric(plain.density, plain.stretch, plain.bend, damping=self._damping(0.5))
        found = fabric(self.fabric)
        return Fabric(found.density, found.stretch, found.bend, damping=self._damping(found.damping))

    def _damping(self, otherwise: float) -> float:
        return otherwise if self.damping is None else self.damping

    @property
    def budget(self) -> Budget:
        """What a frame may cost."""
        if self.limit == "TIME":
            return Budget(ms=self.milliseconds)
        return Budget(iterations=self.iterations)


@dataclass(frozen=True, eq=False)
class ClothFrames:
    """What Blender knows of a cloth: where it is without simulation, in each frame of the bake.

    Attributes:
        name: of the object.
        triangles: (m, 3) vertex numbers.
        first: (n, 3) all vertices in the first frame, in m, in the world's axes.
        pins: (n,) weights of the pin group, 0 to 1; None: nothing is pinned.
        led: (f, p, 3) m, likewise, the vertices `held` in every frame; empty: they stay.
        to_local: (f, 4, 4) from the world in m to the numbers that the object's mesh has, in every frame.
        time_step: seconds from frame to frame.
        uvs: (n, 2), for the mesh beside the cache; None: none.
    """

    name: str
    triangles: np.ndarray
    first: np.ndarray
    pins: np.ndarray | None = None
    led: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3)))
    to_local: np.ndarray = field(default_factory=lambda: np.eye(4)[None])
    time_step: float = 1 / 24
    uvs: np.ndarray | None = None

    def __post_init__(self) -> None:
        first = real_array(self.first)
        if first is None or first.ndim != 2 or first.shape[1] != 3 or not len(first):
            raise InputError(f"{self.name!r} has no vertices to simulate")
        if self.pins is not None and np.shape(self.pins) != (len(first),):
            raise InputError(f"pins must have a weight for each of {len(first)} vertices, not {np.shape(self.pins)}")
        if len(self.led) and np.shape(self.led)[1:] != (len(self.held), 3):
            raise InputError(f"{len(self.held)} vertices are led; their places are not {np.shape(self.led)}")

    @cached_property
    def held(self) -> np.ndarray:
        """The vertices that are not left to the simulation in every frame: pins, and what no face uses."""
        weights = np.zeros(len(self.first)) if self.pins is None else np.asarray(self.pins)
        return np.flatnonzero((weights > LOOSE) | ~np.isin(np.arange(len(self.first)), self.sound))

    @cached_property
    def sound(self) -> np.ndarray:
        """(k, 3) the triangles that have an area."""
        corners = np.asarray(self.first, np.float64)[self.triangles]
        a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        double = np.linalg.norm(np.cross(a, b), axis=1)
        found: np.ndarray = self.triangles[double > FLAT * ((a * a).sum(axis=1) + (b * b).sum(axis=1))]
        return found


class Bake:
    """The simulation of a cloth into a point cache, frame by frame.

        with Bake(cloth, tracks, settings, "cloth.pc2", frames=250) as bake:
            while bake.advance():
                print(bake.done, bake.frames)

    The file appears when the block ends, with the frames that are done; not if it fails.
    """

    def __init__(
        self,
        cloth: ClothFrames,
        tracks: Sequence[Track],
        settings: Settings,
        path: str | PathLike[str],
        *,
        frames: int,
    ):
        """Make the model; nothing is written yet.

        Args:
            cloth: what is simulated.
            tracks: what it touches.
            settings: what it is made of, and how well it is solved.
            path: of the cache: .pc2 or .mdd.
            frames: how many, with the first.
        """
        if not is_whole(frames) or frames < 1:
            raise InputError(f"a bake has one frame or more, not {shown(frames)}")
        self.cloth, self.settings, self.frames = cloth, settings, int(frames)
        self.done = 0
        self.report: Report | None = None
        self.used = np.unique(cloth.sound)
        if not len(self.used):
            raise InputError(f"{cloth.name!r} has no faces, so that there is nothing to simulate")
        colliders, self.notes = as_colliders(list(tracks), cloth.time_step)
        self.simulation = self._simulation(colliders)
        self._cache = Cache(path, _Whole(cloth), time_step=cloth.time_step, name=cloth.name, settings=vars(settings))

    def _simulation(self, colliders: list[Any]) -> Simulation:
        cloth, settings = self.cloth, self.settings
        numbers = np.full(len(cloth.first), -1)
        numbers[self.used] = np.arange(len(self.used))
        rest = np.asarray(cloth.first, np.float64)[self.used]
        mesh = Mesh.from_triangles(rest, numbers[cloth.sound], name=cloth.name, repair=True, split=True)
        material = settings.material
        model = Model.of(mesh, material, gravity=settings.gravity, air=material.damping)
        if "seams" in mesh.groups:
            model = model.sew("seams")
        model = self._pinned(model, numbers)
        if colliders or settings.self_contact:
            model = model.collide(
                colliders,
                thickness=settings.thickness,
                friction=settings.friction,
                itself=settings.self_contact,
            )
        substeps = settings.substeps or "auto"
        return Simulation(model, budget=settings.budget, time_step=cloth.time_step, substeps=substeps)

    def _pinned(self, model: Model, numbers: np.ndarray) -> Model:
        """Pins by weight: the whole weight holds for good, less of it pulls, half of it as hard as the cloth itself."""
        self._rows = np.zeros(0, np.int64)  # of `led`, in the order of the model's pins
        if self.cloth.pins is None:
            return model
        held = self.cloth.held
        rows = np.flatnonzero((numbers[held] >= 0) & (np.asarray(self.cloth.pins)[held] > LOOSE))
        if not len(rows):
            return model
        weights = np.asarray(self.cloth.pins, np.float64)[held[rows]]
        firm = model.pin_stiffness
        share = np.minimum(weights, FIRM)
        soft = np.minimum(firm, self.settings.material.stretch * share / (1 - share))
        stiffness = np.where(weights >= FIRM, firm, soft)
        self._rows = rows
        return model.constrain("pin", numbers[held[rows]], stiffness)

    def advance(self) -> bool:
        """Simulate and write the next frame; whether there was one."""
        if self.done >= self.frames:
            return False
        if self.done:
            if len(self._rows) and len(self.cloth.led):
                self.simulation.targets = self._led(self.done)[self._rows]
            self.report = self.simulation.step()
        self._cache.add(self._local(self.done))
        self.done += 1
        return self.done < self.frames

    def _led(self, frame: int) -> np.ndarray:
        found: np.ndarray = np.asarray(self.cloth.led[min(frame, len(self.cloth.led) - 1)], np.float64)
        return found

    def positions(self) -> np.ndarray:
        """(n, 3) all vertices of the object now, in the world (m)."""
        whole = np.array(self.cloth.first, np.float64)
        if len(self.cloth.led):
            whole[self.cloth.held] = self._led(self.done)
        whole[self.used] = self.simulation.positions[: len(self.used)]
        return whole

    def _local(self, frame: int) -> np.ndarray:
        to_local = self.cloth.to_local[min(frame, len(self.cloth.to_local) - 1)]
        found: np.ndarray = self.positions() @ to_local[:3, :3].T + to_local[:3, 3]
        return found

    def finish(self) -> Path:
        """Complete the file with the frames that are done."""
        return self._cache.finish()

    def close(self) -> None:
        """Leave the file as it was."""
        self._cache.close()

    def __enter__(self) -> Bake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.done:
            self.finish()
        else:
            self.close()


class _Whole:
    """All vertices of the object, as they are."""

    def __init__(self, cloth: ClothFrames):
        self.triangles, self.n_vertices, self.uvs, self.name = cloth.triangles, len(cloth.first), cloth.uvs, cloth.name

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Themselves."""
        return positions
