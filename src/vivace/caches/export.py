"""`vivace.export`: what moves, to a file that other programs play."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_count, shown
from ..errors import InputError
from .animation import Animation
from .progress import Progress, shown_progress
from .surfaces import Drawn, drawn
from .writing import Cache


def export(
    source: Any,
    path: str | os.PathLike[str],
    *,
    frames: int | None = None,
    time_step: float | None = None,
    surface: Any = None,
    unit: str | None = None,
    up: str | None = None,
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> Path:
    """Write what moves to a file, frame by frame, by the suffix of its name; `vivace.caches.CACHES` has them.

    Memory does not grow with the number of frames. The file appears under its name when it is whole; where a run is
    interrupted by Ctrl-C, with the frames that there are.

    Args:
        source: a simulation, of which the present and `frames` steps are written; what was recorded, with `positions`
            (f, n, 3) and `time_step`, such as a trajectory or an animation; or frames (n, 3) as they come.
        path: where to. A sequence of files has `#` for its numbers: walk/cloth-####.obj.
        frames: how many steps of a simulation, or frames of anything else at most.
        time_step: seconds from one frame to the next, where the source does not say.
        surface: what is written: a mesh; triangles (m, 3); or what has `triangles` and `at(positions)`, perhaps `uvs`
            and `name`, as `vivace.embed` makes it. By default the source's own mesh; where that was read from a file,
            with the vertices, UVs, polygons and names that it has there.
        unit: of the numbers in the file: "m", "cm", "mm", "in", ...; by default that of the file that the mesh came
            from, where it did, else metres.
        up: the axis that points up in the file, "y" or "z"; by default as there, else y.
        name: of the mesh in the file; by default the surface's.
        settings: what made it; goes into files that have a place for it.
        progress: called with how many frames are done, and of how many (None: nobody knows); True: a bar below the cell
            of a notebook, or a line on a terminal.

    Returns:
        The path of the file.
    """
    tell = shown_progress(progress, "exporting")
    stream, total, step, own = _source(source, frames)
    step = step if time_step is None else time_step
    if step is None:
        raise InputError("frames alone do not say how long each lasts; give time_step, such as time_step=1 / 30")
    first = next(stream, None)
    if first is None:
        raise InputError("there is not a frame to export")
    first = np.asarray(first)
    if surface is None and own is None:
        raise InputError("frames alone do not say what they are the vertices of; give surface, such as surface=mesh")
    followed = drawn(own if surface is None else surface, vertices=len(first) if first.ndim else None)
    cache = Cache(path, followed, time_step=step, unit=unit, up=up, name=name, settings=dict(settings or {}))
    try:
        for done, frame in enumerate(chain([first], stream), 1):
            cache.add(frame)
            if tell is not None:
                tell(done, total)
    except KeyboardInterrupt:
        cache.finish()
        raise
    except BaseException:
        cache.close()
        raise
    return cache.finish()


def _source(source: Any, frames: int | None) -> tuple[Iterator[Any], int | None, float | None, Any]:
    """Frames, how many (None: nobody knows), seconds of each (None) and whose vertices they are (None)."""
    if frames is not None:
        check_count("frames", frames, 1)
    step = getattr(source, "time_step", getattr(getattr(source, "sim", None), "time_step", None))
    if callable(getattr(source, "step", None)):
        if frames is None:
            raise InputError("a simulation goes on for ever; say how many steps to export: frames=120")
        return _steps(source, frames), frames + 1, step, _owner(source)
    recorded = source if isinstance(source, Sequence) else getattr(source, "positions", source)
    if isinstance(recorded, str) or not isinstance(recorded, Iterable):
        raise InputError(f"a simulation, a trajectory or frames (n, 3) are needed, not {shown(source)}")
    total = len(recorded) if isinstance(recorded, Sized) else None
    if frames is not None:
        total = frames if total is None else min(frames, total)
    return islice(iter(recorded), frames), total, step, _owner(source)


def _owner(source: Any) -> Any:
    """Whose vertices a recording has: its own surface, or the mesh that was simulated; None: it does not say."""
    if isinstance(source, Animation):
        return Drawn(source.name, source.triangles, source.n_vertices, source.uvs, lambda positions: positions)
    model = getattr(getattr(source, "sim", source), "model", None)
    return getattr(model, "mesh", None)


def _steps(sim: Any, frames: int) -> Iterator[Any]:
    """Where a simulation is now, and after each step."""
    yield sim.positions
    for _ in range(frames):
        sim.step()
        yield sim.positions
