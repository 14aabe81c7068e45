"""What people make a scene's body of: its model with another fabric, with or without contacts with itself, stiffer."""

from __future__ import annotations

from ..model.fabrics import FABRICS, fabric, is_sheet, made_of, summary_of
from ..model.model import Model
from ..scenes.self_contact import touching_itself
from .messages import FabricChoice, Settings


def tailored(model: Model, settings: Settings) -> Model:
    """A scene's model as the settings have it; it has the vertices and the pins that it had."""
    if settings.fabric:
        model = made_of(model, fabric(settings.fabric))
    model = touching_itself(model, settings.self_contact)
    return model.stiffened(settings.stiffness)


def fabric_choices(model: Model | None = None) -> list[FabricChoice]:
    """All fabrics; none for a model that cannot be made of another."""
    if model is not None and not is_sheet(model):
        return []
    choices = []
    for name in FABRICS:
        one = fabric(name)
        values = one.density, one.stretch, one.bend, one.friction, one.damping, one.thickness
        choices.append(FabricChoice(name, summary_of(name), *values))
    return choices
