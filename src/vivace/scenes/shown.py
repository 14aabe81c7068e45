"""Mesh files of a scene: what is simulated, and perhaps a finer surface that is shown of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .. import mesh as meshes
from ..checks import as_path
from ..mesh import Mesh


def load_mesh(
    path: Path, *, surface: str | os.PathLike[str] | None = None, folder: Path | None = None, **options: Any
) -> Mesh:
    """A mesh from a file, as `vivace.mesh.load` reads it with these options.

    Args:
        path: of what is simulated.
        surface: of a finer surface that it carries, in the same unit and axes; see `vivace.embed`.
        folder: that `surface` is seen from; None: the present one.
        **options: of `vivace.mesh.load`.
    """
    body = meshes.load(path, **options)
    if surface is None:
        return body
    same = {key: options[key] for key in ("unit", "up") if key in options}
    place = as_path(surface, "surface")
    fine = meshes.load(place if folder is None else folder / place, repair=True, split=True, **same)
    return body.showing(meshes.embed(fine, body))
