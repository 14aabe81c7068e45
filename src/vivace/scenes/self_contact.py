"""Whether a body touches itself, said after the scene was made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..checks import check_flag
from ..errors import InputError
from ..model.model import Model
from .thickness import sheet_thickness


def touching_itself(model: Model, itself: bool) -> Model:
    """The model with contacts between its own surfaces, or without."""
    if check_flag("self_contact", itself) == touches_itself(model):
        return model
    if model.collisions is not None:
        return replace(model, collisions=replace(model.collisions, itself=itself))
    if not can_touch_itself(model):
        raise InputError(f"{model.mesh.name!r} has no surface that could touch itself")
    edges = model.mesh.vertices[model.mesh.edges]
    typical = float(np.median(np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1)))
    return model.collide((), thickness=sheet_thickness(typical), itself=True)


def touches_itself(model: Model) -> bool:
    """Whether surfaces of the model touch each other."""
    return model.collisions is not None and model.collisions.itself


def can_touch_itself(model: Model) -> bool:
    """Whether there is a surface; wires have none."""
    return bool(len(model.mesh.triangles))
