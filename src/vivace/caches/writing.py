"""A cache that is being written: frames in, constant memory, and a file that is whole or not there."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..checks import as_path, check_finite, check_time_step, real_array, shown
from ..errors import FileError, InputError, UnknownNameError, VivaceError
from ..files import replace_folder, staging
from .base import CACHES, About, CacheFormat, check_installed
from .numbering import Numbered
from .surfaces import Drawn, drawn
from .units import axes, metres


class Cache:
    """Frames of a surface to a file, as they come.

        with Cache("cloth.usdc", mesh, time_step=1 / 30) as cache:
            cache.add(positions)

    The file appears under its name when the block ends, whole; if the block fails, or nothing was added, it does not,
    and one that was there stays.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        surface: Any,
        *,
        time_step: float,
        start: float = 0.0,
        unit: str | None = None,
        up: str | None = None,
        name: str | None = None,
        settings: dict[str, Any] | None = None,
    ):
        """Check everything, and write nothing yet.

        Args:
            path: where to; the suffix says the format. A sequence of files has `#` for its numbers: walk/####.obj.
            surface: what the vertices are those of: a mesh, or what has `triangles`, `at(positions)` and perhaps `uvs`
                and `name`, such as a fine surface that a coarse mesh carries.
            time_step: seconds from one frame to the next.
            start: seconds at the first one.
            unit: of the numbers in the file: "m", "cm", "mm", "in", ...; None: of the file that the surface came from,
                where it did, else "m".
            up: the axis that points up in the file: "y", or "z"; None: as there, else "y".
            name: of the mesh in the file; by default the surface's.
            settings: what made it; goes into files that have a place for it.
        """
        self.path = as_path(path)
        self.kind = check_cache(self.path, unit, up)
        self.surface: Drawn = drawn(surface)
        unit = unit or ("m" if self.kind.metric else self.surface.unit)
        up = up or ("y" if self.kind.metric else self.surface.up)
        self.written = 0
        self._start = start
        self._scale, self._turn = 1 / metres(unit), axes(up)
        self._same = unit == "m" and up == "y"
        if self.kind.faces and not len(self.surface.triangles):
            raise InputError(
                f"{self.path.suffix} holds triangles, and {self.surface.name!r} has none; write .npz, .pc2 or .mdd"
            )
        self.about = About(
            self.surface.n_vertices,
            np.asarray(self.surface.triangles, np.int32),
            None if self.surface.uvs is None else np.asarray(self.surface.uvs, np.float32),
            name or self.surface.name,
            check_time_step(time_step),
            unit,
            up,
            dict(settings or {}),
            self.surface.polygons,
        )
        self._place = Numbered.of(self.path).folder if self.kind.sequence else self.path
        self._stack = ExitStack()
        self._stage: Path | None = None
        self._writer: CacheFormat | None = None

    def add(self, positions: Any) -> None:
        """Write the next frame: (n, 3) positions of what is simulated, in m."""
        found = real_array(positions)
        if found is None:
            raise InputError(f"a frame is (n, 3) positions, not {shown(positions)}")
        check_finite(f"frame {self.written} of {self.path}", found)
        found = self.surface.at(found)
        if found.shape != (self.about.vertices, 3):
            raise InputError(f"frame {self.written} has the shape {found.shape}; it needs ({self.about.vertices}, 3)")
        if not self._same:
            found = (found @ self._turn) * self._scale
        # The frame before it may have failed to open a file: whoever adds again must not find a half one.
        writer = self._open() if self._writer is None else self._writer
        try:
            writer.add(np.ascontiguousarray(found, np.float32), self._start + self.written * self.about.time_step)
        except OSError as error:
            raise self._plainly(error) from error
        self.written += 1

    def finish(self) -> Path:
        """Complete the file and give it its name."""
        try:
            if self._writer is None or self._stage is None:
                raise InputError(f"there is not a frame to write to {self.path}")
            self._writer.finish()
            self._writer.close()
            self._publish(self._stage)
        except OSError as error:
            raise self._plainly(error) from error
        finally:
            self.close()
        return self.path

    def close(self) -> None:
        """Let go of everything; what is not finished is gone."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        self._stack.close()

    def _open(self) -> CacheFormat:
        self._stage = self._stack.enter_context(staging(self._place))
        inside = self._stage
        if self.kind.sequence:
            inside = self._stage / "frames"
            inside.mkdir()
        self._writer = self.kind(inside, self.path.name, self.about)
        return self._writer

    def _publish(self, stage: Path) -> None:
        if self.kind.sequence:
            replace_folder(stage / "frames", self._place, stage)
            return
        companions = [
            suffix for suffix in self.kind.companions if (stage / self.path.name).with_suffix(suffix).exists()
        ]
        if companions:  # an old file must not be there beside new companions
            self.path.unlink(missing_ok=True)
        for suffix in companions:
            (stage / self.path.name).with_suffix(suffix).replace(self.path.with_suffix(suffix))
        (stage / self.path.name).replace(self.path)

    def _plainly(self, error: OSError) -> VivaceError:
        if isinstance(error, VivaceError):
            return error
        return FileError(f"cannot write {self.path}: {error.strerror or error}; choose another place")

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.close()


def check_cache(path: Path, unit: str | None = None, up: str | None = None) -> type[CacheFormat]:
    """The format that a path asks for: known, installed, in a unit that it can have, and nothing in its way."""
    unit, up = unit or "m", up or "y"
    suffix = path.suffix.lower()
    if suffix not in CACHES:
        raise UnknownNameError(f"format of caches, of {path}:", suffix, CACHES)
    kind = CACHES[suffix]
    metres(unit), axes(up)
    if kind.metric and (unit, up) != ("m", "y"):
        raise InputError(f"{suffix} is in metres with y up by definition; leave unit={unit!r} and up={up!r} out")
    check_installed(kind)
    if kind.sequence:
        Numbered.of(path).check_writable()
    elif path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; choose another name")
    return kind
