"""Films as files: their formats, how many frames a second they have, and the writing itself.

Everything that makes a film comes through here, so that all have the same limits, appear whole under their names, and
say the same when they cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError
from ..files import writing
from ..registry import Registry
from .backends import Size

T = TypeVar("T")
Pictures = Iterator[NDArray[np.uint8]]

# Frames a second. Hardly a screen shows more than 120, and browsers play GIFs at 50 at most: more would be drawn for
# nobody. A GIF's delays end at 655 s, and long before that it seems to stand still.
FASTEST = {".mp4": 120.0, ".gif": 50.0}
SLOWEST = 0.1

WRITERS: Registry[Callable[[Path, Pictures, Size, float, str], None]] = Registry("film format")


def pace(h: float, suffix: str) -> tuple[int, float]:
    """Which frames to show (every k-th) and how many a second, of frames `h` seconds apart.

    As near to simulated time as the format goes.
    """
    fastest = _fastest(suffix)
    every = max(1, ceil(1 / (fastest * h) - 1e-9))  # 1e-9: 1/120 s is 120 frames a second, however it was rounded
    return every, min(max(SLOWEST, 1 / (every * h)), fastest)


def check_film(path: Path, fps: float) -> None:
    """Refuse a name or a speed that no film has, before anything is drawn."""
    suffix, fastest = path.suffix.lower(), _fastest(path.suffix)
    if suffix not in WRITERS:
        given = path.suffix or "a name without a suffix"
        raise InputError(f"an animation is written as {' or '.join(WRITERS)}, not {given!r} ({path})")
    if not SLOWEST <= fps <= fastest:
        raise InputError(
            f"a film as {suffix} has {SLOWEST:g} to {fastest:g} frames a second, not {fps!r}; "
            "change fps, or show fewer of the frames"
        )


def write_film(path: Path, pictures: Pictures, size: Size, fps: float, comment: str) -> None:
    """Write pictures (height, width, 3) as they come to `path`, whole or not at all; `comment` goes into the file."""
    check_film(path, fps)
    with writing(path) as temporary:
        WRITERS[path.suffix.lower()](temporary, pictures, size, fps, comment)


def _fastest(suffix: str) -> float:
    return FASTEST.get(suffix.lower(), max(FASTEST.values()))  # a format that somebody registered has the screen's


def _first(stream: Iterator[T]) -> T:
    for thing in stream:
        return thing
    raise InputError("an animation needs at least one frame")


@WRITERS.register(".mp4")
def _write_mp4(path: Path, pictures: Pictures, size: Size, fps: float, comment: str) -> None:
    """H.264 with 4:2:0 chroma, which is what browsers and slides play."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingExtraError("writing an MP4", "pictures") from None
    first = _first(pictures)
    parameters = ["-preset", "veryfast", "-crf", "18", "-movflags", "+faststart", "-metadata", f"comment={comment}"]
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
