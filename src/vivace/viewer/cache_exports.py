"""Recordings as caches that other programs play: USD, glTF, Alembic and the others, made in a process of their own.

A format of several files comes as a zip of them.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..caches import CACHES, export
from ..pictures.camera import Camera
from .exports import Work, recording_format
from .film_process import write_in_process
from .recordings import Recording

SEQUENCES = "{stem}-####{suffix}"  # names of files of their own for each frame


@dataclass(frozen=True, eq=False)
class RecordedCache:
    """A recording that is to be a cache. It can be pickled, for another process to write it.

    Attributes:
        frames: (n, 3) each.
        surface: what they are the vertices of: a mesh, or triangles.
        h: seconds from one to the next.
        suffix: of the format.
        name: of the body in the file, and of the file.
        settings: go into the file.
    """

    frames: Sequence[np.ndarray] | np.ndarray
    surface: Any
    h: float
    suffix: str
    name: str
    settings: Mapping[str, Any]

    def thinned(self, suffix: str) -> RecordedCache:
        """All frames are kept."""
        return self

    def write(self, target: Path, progress: Callable[[int, int | None], None] | None = None, **_: Any) -> str:
        """To `target`; one that ends in .zip has all files of the cache."""
        stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.name) or "recording"
        kind = CACHES[self.suffix]
        with tempfile.TemporaryDirectory() as folder:
            file = SEQUENCES if kind.sequence else "{stem}{suffix}"
            path = Path(folder) / stem / file.format(stem=stem, suffix=self.suffix)
            path.parent.mkdir()
            export(
                self.frames,
                path,
                time_step=self.h,
                surface=self.surface,
                name=self.name,
                settings=self.settings,
                progress=progress,
            )
            if target.suffix == ".zip":
                with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as packed:
                    for each in sorted(path.parent.iterdir()):
                        packed.write(each, f"{stem}/{each.name}")
            else:
                path.replace(target)
        return ""


def recorded_cache(recording: Recording, suffix: str) -> RecordedCache:
    """What a recording shows, for a format of caches."""
    frames, surface, h, name, settings = recording.surfaces()
    return RecordedCache(frames, surface, h, suffix, name, settings)


def _writer(suffix: str) -> Callable[[Recording, Path, Camera | None, Work], None]:
    def write(recording: Recording, path: Path, camera: Camera | None, work: Work) -> None:
        work.label = f"writing {CACHES[suffix].title}"
        work.progress(0, recording.frames)
        write_in_process(recorded_cache(recording, suffix), path, work.progress, work.cancelled)

    return write


def _offer(suffix: str, title: str, media_type: str) -> None:
    """A format of caches as one of recordings."""
    kind = CACHES[suffix]
    name = suffix[1:]
    packed = kind.sequence or bool(kind.companions)
    recording_format(
        name,
        f"{title} (zip)" if packed else title,
        "application/zip" if packed else media_type,
        suffix=f"{name}.zip" if packed else name,
        needs=kind.needs,
    )(_writer(suffix))


_offer(".usdc", "USD", "application/octet-stream")
_offer(".glb", "glTF (GLB)", "model/gltf-binary")
_offer(".abc", "Alembic", "application/octet-stream")
_offer(".pc2", "PC2 point cache", "application/octet-stream")
_offer(".mdd", "MDD point cache", "application/octet-stream")
_offer(".obj", "OBJ sequence", "model/obj")
_offer(".ply", "PLY sequence", "application/octet-stream")
_offer(".xdmf", "XDMF for ParaView", "application/octet-stream")
