"""Pictures to PNG and animations to MP4 or GIF. A file appears whole, and carries the settings that made it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import __version__
from ..checks import as_path
from ..errors import FileError, InputError, MissingExtraError, VivaceError
from ..files import replacing
from ..registry import Registry
from .backends import DEFAULT_SIZE, Ground, Look, Size, ground_under, open_renderer
from .camera import Camera, bounds_of
from .scenery import Scenery

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
Colours = ArrayLike | Callable[[int], ArrayLike] | None
Pictures = Iterator[NDArray[np.uint8]]


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


def provenance(settings: Mapping[str, Any] | None) -> str:
    """What made a file, as one line of ASCII JSON: the version of this package, and the settings given."""
    return json.dumps({"vivace": __version__, **(settings or {})}, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def save_picture(
    path: str | os.PathLike,
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
    with _written(path) as temporary:
        with _open([positions], triangles, camera, size, options) as renderer:
            picture = renderer.draw(positions, colours)
        _write_png(temporary, picture, provenance(settings))
    return renderer.note


def save_animation(
    path: str | os.PathLike,
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
    if path.suffix.lower() not in WRITERS:
        given = path.suffix or "a name without a suffix"
        raise InputError(f"an animation is written as {' or '.join(WRITERS)}, not {given!r} ({path})")
    writer = WRITERS[path.suffix.lower()]
    if not 0 < fps <= 1000:
        raise InputError(f"fps must be above 0 and at most 1000 frames a second, not {fps!r}")
    if camera is None and not isinstance(frames, np.ndarray):
        frames = list(frames)
    total = len(frames) if isinstance(frames, Sized) else None
    if total == 0:
        raise InputError("an animation needs at least one frame")
    if path.suffix.lower() == ".mp4":
        size = (size[0] - size[0] % 2, size[1] - size[1] % 2)
    with _written(path) as temporary, _open(frames, triangles, camera, size, options) as renderer:

        def pictures() -> Pictures:
            for number, frame in enumerate(frames):
                yield renderer.draw(frame, colours(number) if callable(colours) else colours)
                if progress is not None:
                    progress(number + 1, total)

        writer(temporary, pictures(), size, fps, provenance(settings))
    return renderer.note


def _open(
    frames: Iterable[ArrayLike],
    triangles: ArrayLike | None,
    camera: Camera | None,
    size: Size,
    options: DrawingOptions,
):
    if camera is None:
        low, high = bounds_of(frames)
        return open_renderer(triangles, (low, high), size=size, **options)
    if options.get("ground", "auto") == "auto" and isinstance(frames, Sized):
        options = {**options, "ground": ground_under(*bounds_of(frames), camera, options.get("scenery"))}
    return open_renderer(triangles, camera, size=size, **options)


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """As `replacing`, found out early for folders, and with a full disk or a failed encoder said plainly."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; choose another name")
    try:
        with replacing(path) as temporary:
            yield temporary
    except VivaceError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}; choose another place") from error


def _write_png(path: Path, picture: NDArray[np.uint8], comment: str) -> None:
    from PIL import Image, PngImagePlugin

    text = PngImagePlugin.PngInfo()
    text.add_text("vivace", comment)
    Image.fromarray(picture).save(path, format="PNG", pnginfo=text)


def _first(stream: Iterator[T]) -> T:
    for thing in stream:
        return thing
    raise InputError("an animation needs at least one frame")


WRITERS: Registry[Callable[[Path, Pictures, Size, float, str], None]] = Registry("animation format")


@WRITERS.register(".mp4")
def _write_mp4(path: Path, pictures: Pictures, size: Size, fps: float, comment: str) -> None:
    """H.264 with 4:2:0 chroma, which is what browsers and slides play."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingExtraError("writing an MP4", "pictures") from None
    first = _first(pictures)
    parameters = ["-crf", "18", "-movflags", "+faststart", "-metadata", f"comment={comment}"]
    sink = imageio_ffmpeg.write_frames(
        str(path),
        size,
        fps=fps,
        codec="libx264",
        pix_fmt_out="yuv420p",
        quality=None,
        macro_block_size=2,
        output_params=parameters,
        ffmpeg_log_level="error",
    )
    try:
        sink.send(None)
        for picture in chain([first], pictures):
            sink.send(np.ascontiguousarray(picture))
    finally:
        sink.close()


@WRITERS.register(".gif")
def _write_gif(path: Path, pictures: Pictures, size: Size, fps: float, comment: str) -> None:
    """Through Pillow, which matplotlib brings: a palette for each frame, played for ever."""
    from PIL import Image

    if fps > 50:
        raise InputError(f"a GIF plays at most 50 frames a second, not {fps!r}; lower fps or write an .mp4")

    def images() -> Iterator[Image.Image]:
        shown = 0
        for number, picture in enumerate(pictures, start=1):
            image = Image.fromarray(picture).quantize(256, dither=Image.Dither.FLOYDSTEINBERG)
            # Delays are whole hundredths of a second; carrying the remainder keeps the animation's length right.
            until = 10 * round(100 * number / fps)
            image.info["duration"] = until - shown
            shown = until
            yield image

    stream = images()
    _first(stream).save(path, format="GIF", save_all=True, append_images=stream, loop=0, comment=comment.encode())
