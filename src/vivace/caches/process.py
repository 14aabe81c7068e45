"""A cache read in a process of its own: `python -m vivace.caches.process FILE OUT`; what it leaves is an NPZ."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ..confined import MEMORY, confined
from ..files import provenance
from .base import MOST_BYTES, MOST_RATIO, About
from .npz import Npz
from .reading import content_of, seconds_for


def main(source: str, target: str) -> int:
    """Read `source`, write arrays to `target`; the exit code of the process."""
    path = Path(source)
    size = sum(file.stat().st_size for file in (path, path.with_suffix(".h5")) if file.is_file())
    written = max(MOST_BYTES, MOST_RATIO * size) + (1 << 28)
    return confined(
        lambda: _read(path, Path(target)), memory=MEMORY + 2 * size, seconds=seconds_for(path), written=written
    )


def _read(source: Path, target: Path) -> None:
    content = content_of(source)
    about = About(content.vertices, np.asarray(content.triangles, np.int32), content.uvs, content.name or "")
    writer = Npz(target.parent, target.name, about)
    for frame in content.frames:
        writer.add(frame, 0.0)
    said = {"name": content.name, "metres": content.metres, "up": content.up}
    writer.more = {"times": content.times, "settings": np.array(provenance(said))}
    writer.finish()
    writer.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
