"""Films for notebooks: `vivace.film(sim, frames=60)` is shown below the cell, and is in no file until it is saved."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..caches.progress import Progress, shown_progress
from ..checks import as_path, check_count, check_time_step, shown
from ..errors import FileError, InputError, MissingExtraError
from ..files import writing
from .animation import Film
from .bodies import film_of_model
from .camera import Camera

VIEW = (0.5, 0.35, 1.0)
MEDIA = {".mp4": "video/mp4", ".gif": "image/gif"}


@dataclass(frozen=True, eq=False)
class InlineFilm:
    """A film as bytes, which notebooks show.

    Attributes:
        data: the file.
        suffix: .mp4, or .gif where there is no library for that.
        frames: how many were drawn.
        seconds: that it takes.
    """

    data: bytes
    suffix: str
    frames: int
    seconds: float

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, whose suffix must be its own."""
        target = as_path(path)
        if target.suffix.lower() != self.suffix:
            raise InputError(f"this film is a {self.suffix}, not {target.suffix or 'a name without a suffix'!r}")
        try:
            with writing(target) as temporary:
                temporary.write_bytes(self.data)
        except OSError as error:
            raise FileError(f"cannot write {target}: {error.strerror or error}") from error
        return target

    def _repr_html_(self) -> str:
        source = f"data:{MEDIA[self.suffix]};base64,{base64.b64encode(self.data).decode()}"
        if self.suffix == ".mp4":
            return f'<video controls loop autoplay muted playsinline style="max-width:100%" src="{source}"></video>'
        return f'<img style="max-width:100%" src="{source}">'

    def __repr__(self) -> str:
        size = f"{len(self.data) / 1e3:,.0f} KB"
        return f"<film: {self.frames} frames, {self.seconds:.2f} s, {size} as {self.suffix}; save(path) writes it>"


def film(
    source: Any,
    frames: int | None = None,
    *,
    time_step: float | None = None,
    camera: Camera | None = None,
    view: tuple[float, float, float] | None = None,
    progress: Progress | bool | None = None,
) -> InlineFilm:
    """A film of what moves, for notebooks: the last line of a cell shows it.

    Args:
        source: a simulation, of which the present and `frames` steps are drawn; or what was recorded, with `positions`
            (f, n, 3) and the simulation as `sim`, such as a run.
        frames: how many steps of a simulation, or frames of a recording at most.
        time_step: seconds from one frame to the next; by default the simulation's.
        camera: from where; by default so that everything is seen.
        view: from which side, if there is no camera.
        progress: True: a bar below the cell; or a function of (done, total).
    """
    sim = getattr(source, "sim", source)
    model: Any = getattr(sim, "model", None)
    if not hasattr(model, "mesh"):
        raise InputError(f"a simulation of soft bodies is needed, or a run of one, not {shown(source)}")
    if frames is not None:
        check_count("frames", frames, 1)
    if sim is source:
        if frames is None:
            raise InputError("a simulation goes on for ever; say how many steps to film: frames=60")
        tell = shown_progress(progress, "simulating")
        taken, poses, times = list[np.ndarray](), list[Any](), list[float]()
        for number, report in enumerate(_steps(sim, frames), 1):
            taken.append(np.array(sim.positions, np.float32))
            poses.append(getattr(report, "bodies", None))
            times.append(sim.time)
            if tell is not None:
                tell(number, frames + 1)
        moved = _poses(poses[1:])
        # Where rigid bodies were is told by steps alone.
        positions: Sequence[np.ndarray] | np.ndarray = taken if moved is None else taken[1:]
        seconds: list[float] | None = times[-len(positions) :]
    else:
        recorded = getattr(source, "positions", ())
        positions, moved = recorded if frames is None else recorded[:frames], None
        seconds = None
        if not len(positions):
            raise InputError("nothing was recorded; run it with record=True")
    h = sim.time_step if time_step is None else check_time_step(time_step)
    side: Any = view or getattr(getattr(source, "scene", None), "view", VIEW)
    made = film_of_model(model, positions, h, poses=moved, times=seconds, view=side, camera=camera, settings={})
    return drawn_inline(made, shown_progress(progress, "drawing"))


def drawn_inline(made: Film, progress: Progress | None = None) -> InlineFilm:
    """A film as bytes: MP4, or GIF where there is no library for that."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        try:
            made.write(path, progress)
        except MissingExtraError:
            path = path.with_suffix(".gif")
            made.write(path, progress)
        drawn = made.thinned(path.suffix)
        return InlineFilm(path.read_bytes(), path.suffix, len(drawn.frames), len(drawn.frames) * drawn.h)


def _steps(sim: Any, frames: int) -> Iterator[Any]:
    """None for the present, then the report of each step."""
    yield None
    for _ in range(frames):
        yield sim.step()


def _poses(bodies: list[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """(frames, B, 3) and (frames, B, 4) of the rigid bodies that reports tell of; None: there are none."""
    if not bodies or any(one is None for one in bodies):
        return None
    return np.stack([one.positions for one in bodies]), np.stack([one.orientations for one in bodies])
