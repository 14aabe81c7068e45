"""Files that a page can download: one function for each format, which joins by a decorator.

    @recording_format("mp4", "MP4 film", "video/mp4")
    def mp4(recording, path, camera, work): ...

Names of formats come from a page and are looked up here; the names of files are ours.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..errors import InputError, MissingExtraError, VivaceError
from ..files import replacing, write_text
from ..mesh import Mesh, save
from ..pictures.camera import Camera
from ..registry import Registry
from .film_process import write_in_process
from .messages import FormatChoice, Progress
from .recordings import Recording
from .snapshot import SimulationView

EVERY_S = 0.5  # between two words about progress, at most a second apart for whoever looks


class Cancelled(VivaceError):
    """The person has thought better of it."""


@dataclass(eq=False)
class Work:
    """A file that is being made: whether it is still wanted, and how to say how far it is."""

    tell: Callable[[Progress], None]
    label: str = "making the file"
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.cancelled = threading.Event()
        self._begun = self._told = self.clock()
        self._said = False
        self._first: tuple[float, int] | None = None

    def progress(self, done: int, total: int) -> None:
        """Say how far it is, unless that was said a moment ago; Cancelled if nobody wants it any longer."""
        self.check()
        now = self.clock()
        if self._first is None and done:
            self._first = now, done
        if done < total and now - self._told < EVERY_S and self._said:
            return
        self._told, self._said = now, True
        left = None
        if self._first is not None and done > self._first[1]:
            left = (now - self._first[0]) / (done - self._first[1]) * (total - done)
        waiting = f"getting ready ({now - self._begun:.0f} s)"
        self.tell(Progress(self.label if done else waiting, done, total, left))

    def check(self) -> None:
        """Cancelled if nobody wants the file any longer."""
        if self.cancelled.is_set():
            raise Cancelled("cancelled")


RecordingWriter = Callable[[Recording, Path, Camera | None, Work], None]


@dataclass(frozen=True)
class Format:
    """A format: its title for people, the type of its files, and who writes them.

    Attributes:
        suffix: of its files, without the first dot.
        needs: the library that must be there, as Python imports it; "": none. Without it the format is not offered.
    """

    name: str
    title: str
    media_type: str
    write: Callable[..., None]
    suffix: str
    needs: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether what it needs is there."""
        return not self.needs or find_spec(self.needs) is not None


RECORDING_FORMATS: Registry[Format] = Registry("format of recordings")
POSE_FORMATS: Registry[Format] = Registry("format of poses")


def recording_format(
    name: str, title: str, media_type: str, *, suffix: str = "", needs: str = ""
) -> Callable[[RecordingWriter], RecordingWriter]:
    """Register a function of (recording, path, camera, work) that writes a recording.

    Args:
        name: of the format, and the files' suffix, unless that is another.
        title: for people.
        media_type: of the files.
        suffix: of the files, without the first dot.
        needs: the library that must be there, as Python imports it.
    """

    def add(write: RecordingWriter) -> RecordingWriter:
        RECORDING_FORMATS.register(name)(Format(name, title, media_type, write, suffix or name, needs))
        return write

    return add


def pose_format(name: str, title: str, media_type: str) -> None:
    """Register a format of `vivace.mesh.save` for poses; `name` is the files' suffix."""
    POSE_FORMATS.register(name)(Format(name, title, media_type, save, name))


def choices(formats: Registry[Format]) -> list[FormatChoice]:
    """What the page offers: what is installed."""
    return [FormatChoice(name, formats[name].title) for name in formats if formats[name].is_installed]


def _film(recording: Recording, path: Path, camera: Camera | None, work: Work) -> None:
    work.label = "drawing the film"
    work.progress(0, recording.frames)
    write_in_process(recording.film(camera), path, work.progress, work.cancelled)


recording_format("mp4", "MP4 film", "video/mp4")(_film)
recording_format("gif", "GIF film", "image/gif")(_film)


@recording_format("npz", "NPZ positions", "application/octet-stream")
def _npz(recording: Recording, path: Path, camera: Camera | None, work: Work) -> None:
    work.label = "packing the positions"
    work.progress(0, recording.frames)
    with replacing(path) as temporary:
        np.savez_compressed(temporary, **recording.numbers())


@recording_format("jsonl", "input log, to replay", "application/jsonl")
def _input(recording: Recording, path: Path, camera: Camera | None, work: Work) -> None:
    write_text(path, recording.input_text())


pose_format("obj", "OBJ", "model/obj")
pose_format("ply", "PLY", "application/octet-stream")
pose_format("glb", "glTF (GLB)", "model/gltf-binary")


def write_recording(recording: Recording, path: Path, camera: Camera | None, work: Work) -> None:
    """As the suffix of `path` says: a film seen by `camera`, or the numbers."""
    RECORDING_FORMATS[path.suffix[1:]].write(recording, path, camera, work)


def recording_file(recording: Recording, name: str, camera: Camera | None, work: Work) -> tuple[str, bytes]:
    """Type and bytes of a recording in a format."""
    form = RECORDING_FORMATS[name]  # or says what there is
    if not form.is_installed:
        raise MissingExtraError(form.title, "caches")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"recording.{form.suffix}"
        form.write(recording, path, camera, work)
        return form.media_type, path.read_bytes()


def pose_file(
    triangles: np.ndarray, view: SimulationView, name: str, simulated: Mesh | None = None
) -> tuple[str, bytes]:
    """Type and bytes of what is seen now, in a format: all surfaces, soft ones first, in metres.

    Where nothing but the `simulated` mesh is seen, and that has a surface of its own, it is what `vivace.mesh.save`
    writes of it.
    """
    form = POSE_FORMATS[name]
    if not len(triangles):
        raise InputError(f"a wire has no triangles to write as {form.title}; save a recording as NPZ instead")
    vertices = np.asarray(view.vertices, np.float64)
    used, numbers = np.unique(triangles, return_inverse=True)
    mesh = Mesh(vertices[used], numbers.reshape(-1, 3).astype(np.int32), np.zeros((0, 4), np.int32), "pose")
    if simulated is not None and simulated.surface is not None and len(vertices) == simulated.n_vertices:
        mesh = replace(simulated, vertices=vertices)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pose.{form.name}"
        form.write(mesh, path)
        return form.media_type, path.read_bytes()
