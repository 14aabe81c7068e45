"""Pictures to PNG and animations to MP4 or GIF, of arrays or of a model. Files carry the settings that made them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import as_path
from ..errors import InputError
from ..files import provenance, writing
from .backends import DEFAULT_SIZE, Ground, Look, Renderer, Size
from .camera import Camera, bounds_of
from .film import Pictures, check_film, pace, write_film
from .moving import Joined, Moving
from .opening import ground_under, open_renderer
from .palette import body_colours
from .scenery import Scenery
from .shown import Shown, is_finer

if TYPE_CHECKING:
    from ..model import Model

Progress = Callable[[int, int | None], None]
Colours = ArrayLike | Callable[[int], ArrayLike] | None


class DrawingOptions(TypedDict, total=False):
    """Options that go to `open_renderer` as they are; see there."""

    edges: ArrayLike | None
    points: ArrayLike | None
    backend: str
    ground: Ground
    samples: int
    colour_map: str
    colour_range: tuple[float, float] | None
    look: Look | None
    scenery: Scenery | None


def save_picture(
    path: str | os.PathLike[str],
    positions: ArrayLike,
    triangles: ArrayLike | None,
    *,
    colours: ArrayLike | None = None,
    camera: Camera | None = None,
    size: Size = DEFAULT_SIZE,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[DrawingOptions],
) -> str:
    """Draw one frame to a PNG; without a camera it is seen whole, from the front and above.

    Returns a line that says which renderer drew it and, where a better one is missing, what to install.
    `settings` goes into the file as text under the key "vivace". `colours`: see `Renderer.draw`.
    """
    path = as_path(path)
    if path.suffix.lower() != ".png":
        raise InputError(f"a picture is written as .png, not {path.suffix or 'a name without a suffix'!r} ({path})")
    with writing(path) as temporary:
        with _open([positions], triangles, camera, size, options) as renderer:
            picture = renderer.draw(positions, colours)
        _write_png(temporary, picture, provenance(settings))
    return renderer.note


def save_animation(
    path: str | os.PathLike[str],
    frames: Iterable[ArrayLike],
    triangles: ArrayLike | None,
    *,
    fps: float = 30.0,
    colours: Colours = None,
    camera: Camera | None = None,
    size: Size = DEFAULT_SIZE,
    progress: Progress | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[DrawingOptions],
) -> str:
    """Draw frames, each (n, 3), to .mp4 (H.264) or .gif, at `fps` frames a second; returns `save_picture`'s line.

    Without a camera, the frames are read twice: once to find a view that none of them leaves. With one, they may be a
    generator and are drawn as they come. `colours` is one array for all frames or a function from the frame's number
    to an array; give `colour_range` with a changing scalar field, or each frame has a range of its own.
    `progress(done, total)` is called after each frame; the total is None for a generator.
    MP4 needs even sides, so an odd side loses one pixel.
    """
    path = as_path(path)
    check_film(path, fps)
    if camera is None and not isinstance(frames, np.ndarray | Sequence):
        frames = list(frames)
    total = len(frames) if isinstance(frames, Sized) else None
    if total == 0:
        raise InputError("an animation needs at least one frame")
    if path.suffix.lower() == ".mp4":
        size = (size[0] - size[0] % 2, size[1] - size[1] % 2)
    with _open(frames, triangles, camera, size, options) as renderer:

        def pictures() -> Pictures:
            for number, frame in enumerate(frames):
                yield renderer.draw(frame, colours(number) if callable(colours) else colours)
                if progress is not None:
                    progress(number + 1, total)

        write_film(path, pictures(), size, fps, provenance(settings))
    return renderer.note


@dataclass(frozen=True, eq=False)
class Film:
    """Frames of a model, and all that is drawn with them. It can be pickled, for another process to draw it.

    Attributes:
        frames: (n, 3) each, at least one.
        h: seconds from one to the next.
        view: from where one looks, for a camera that is placed so that everything is seen; see `Camera.framing`.
        camera: instead of that one.
        settings: go into the files.
        bodies: rigid ones that move among them, in as many frames; see `vivace.pictures.bodies.film_of_model`.
    """

    frames: Sequence[NDArray[Any]] | NDArray[Any]
    h: float
    triangles: NDArray[Any] | None
    edges: NDArray[Any] | None
    points: NDArray[Any]
    colours: NDArray[Any] | None
    scenery: Scenery | None
    view: tuple[float, float, float]
    camera: Camera | None
    settings: Mapping[str, Any]
    bodies: Moving | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        frames: Sequence[NDArray[Any]] | NDArray[Any],
        h: float,
        *,
        view: tuple[float, float, float],
        camera: Camera | None = None,
        settings: Mapping[str, Any],
    ) -> Film:
        """A surface where the model has one, and its edges where it has none; pins; colliders and fixed bodies.

        A finer surface that the mesh shows is drawn instead of its own.
        """
        mesh, collisions = model.mesh, model.collisions
        standing = [*collisions.colliders, *(b.shape for b in collisions.bodies if b.fixed)] if collisions else []
        triangles, points = mesh.triangles, model.pinned
        colours = body_colours(mesh.groups, mesh.n_vertices, Look().front)
        if mesh.surface is not None and is_finer(mesh):
            frames, triangles, colours = Shown(frames, mesh.surface, points), mesh.surface.triangles, None
            points = mesh.surface.n_vertices + np.arange(len(points))
        return cls(
            frames,
            h,
            triangles if len(triangles) else None,
            None if len(triangles) else mesh.edges,
            points,
            colours,
            Scenery.of(standing, *bounds_of(frames)) if standing else None,
            view,
            camera,
            settings,
        )

    def thinned(self, suffix: str) -> Film:
        """With those frames only that a film of that format shows."""
        every, _ = pace(self.h, suffix)
        bodies = None if self.bodies is None else self.bodies[::every]
        return replace(self, frames=self.frames[::every], bodies=bodies, h=every * self.h)

    def write(self, target: Path, progress: Progress | None = None, *, backend: str = "auto") -> str:
        """To .mp4 or .gif, in simulated time as nearly as the format goes; returns `save_picture`'s line.

        `backend`: of `open_renderer`.
        """
        shown = self.thinned(target.suffix)
        _, fps = pace(shown.h, target.suffix)
        frames, triangles = shown.drawn()
        options = {**self._options(slice(None)), "backend": backend}
        return save_animation(target, frames, triangles, fps=fps, progress=progress, **options)

    def write_last(self, target: Path, *, size: Size = DEFAULT_SIZE, backend: str = "auto") -> str:
        """The last frame to .png."""
        frames, triangles = self.drawn()
        options = {**self._options(slice(-1, None)), "backend": backend}
        return save_picture(target, frames[-1], triangles, size=size, **options)

    def drawn(self) -> tuple[Sequence[NDArray[Any]] | NDArray[Any], NDArray[Any] | None]:
        """Frames and triangles of everything that moves: soft vertices first, then those of rigid bodies."""
        if self.bodies is None:
            return self.frames, self.triangles
        triangles = self.bodies.triangles + len(self.frames[0])
        if self.triangles is not None:
            triangles = np.concatenate([self.triangles, triangles])
        return Joined(self.frames, self.bodies.frames), triangles

    def _options(self, chosen: slice) -> dict[str, Any]:
        """How these frames are drawn."""
        low, high = bounds_of(self.frames[chosen])
        if self.bodies is not None:
            low, high = self.bodies[chosen].frame(low, high)
        box = self.scenery.frame(low, high) if self.scenery else (low, high)
        camera = self.camera or Camera.framing(*box, direction=self.view)
        options: dict[str, Any] = {
            "edges": self.edges,
            "points": self.points,
            "colours": self.colours,
            "scenery": self.scenery,
            "camera": camera,
            "settings": self.settings,
        }
        if self.bodies is not None:  # the ground is not where a body has fallen to that left the picture
            soft = np.tile(Look().front, (len(self.frames[0]), 1)) if self.colours is None else self.colours
            options["colours"] = np.concatenate([soft, self.bodies.colours])
            options["ground"] = ground_under(low, high, camera, self.scenery)
        return options


def _open(
    frames: Iterable[ArrayLike],
    triangles: ArrayLike | None,
    camera: Camera | None,
    size: Size,
    options: DrawingOptions,
) -> Renderer:
    if camera is None:
        low, high = bounds_of(frames)
        return open_renderer(triangles, (low, high), size=size, **options)
    if options.get("ground", "auto") == "auto" and isinstance(frames, Sized):
        options = {**options, "ground": ground_under(*bounds_of(frames), camera, options.get("scenery"))}
    return open_renderer(triangles, camera, size=size, **options)


def _write_png(path: Path, picture: NDArray[np.uint8], comment: str) -> None:
    from PIL import Image, PngImagePlugin

    text = PngImagePlugin.PngInfo()
    text.add_text("vivace", comment)
    Image.fromarray(picture).save(path, format="PNG", pnginfo=text)
