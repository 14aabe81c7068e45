"""Values that messages have: their ranges, and the settings of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

FAR = 1e4  # m: nobody drags farther
LONGEST = 4096  # bytes of a message from the page

Vector = Annotated[list[Annotated[float, Meta(ge=-FAR, le=FAR)]], Meta(min_length=3, max_length=3)]
Order = Annotated[int, Meta(ge=0, lt=2**53)]
Vertex = Annotated[int, Meta(ge=0, lt=2**31)]
Corners = Annotated[list[Vertex], Meta(min_length=3, max_length=3)]
Weights = Annotated[list[Annotated[float, Meta(ge=-1, le=2)]], Meta(min_length=3, max_length=3)]
Pointer = Annotated[int, Meta(ge=0, le=9)]
Name = Annotated[str, Meta(max_length=120)]
Part = Annotated[str, Meta(max_length=3500, pattern=r"^[0-9cp_.\-]*$")]  # of pins and cuts, see edit_text
Vertices = Annotated[list[Vertex], Meta(min_length=1, max_length=500)]
Stroke = Annotated[list[Vector], Meta(min_length=2, max_length=96)]
Index = Annotated[int, Meta(ge=0, lt=2**31)]

ColourBy = Literal["plain", "strain", "velocity", "graph", "contact", "residual", "conversion"]
PinRule = Literal["top", "corners", "none", "scene"]
BodyKind = Literal["soft", "rigid"]
GhostPhase = Literal["off", "watching", "computing", "showing"]
MeshKind = Literal["jelly", "shell", "cloth"]  # what a mesh of one's own can be made to be

# Each setting with its range; the page's sliders have the same.
BudgetMs = Annotated[float, Meta(ge=1, le=33)]
Iterations = Annotated[int, Meta(ge=1, le=300)]
Relaxation = Annotated[float, Meta(ge=0.05, le=1.99)]
Stiffness = Annotated[float, Meta(ge=0.01, le=100)]
TimeStep = Annotated[float, Meta(ge=1 / 240, le=1 / 15)]
Gravity = Annotated[float, Meta(ge=-20, le=20)]
Wind = Annotated[float, Meta(ge=0, le=20)]
Heading = Annotated[float, Meta(ge=0, le=360)]
GrabRadius = Annotated[float, Meta(ge=0, le=0.3)]
AddedShape = Literal["ball", "box", "capsule"]
HandForce = Annotated[float, Meta(ge=0.1, le=2000)]
Resolution = Annotated[int, Meta(ge=4, le=200)]


@dataclass(frozen=True)
class Settings:
    """What the simulation runs with now.

    Attributes:
        compare: the solver of the other half of a split view; "" for none.
        relaxation: ω of `solver`; None where it has none.
        iterations: of a substep of rigid bodies; None where `budget_ms` is what ends a step.
        fabric: what cloth is made of, by name; "" as the scene has it.
        self_contact: whether the body touches itself.
        stiffness: times the scene's own, or the fabric's.
        time_step: s.
        gravity: m/s², downward.
        wind: m/s, blowing towards `wind_heading` (degrees; 0 is +x, 90 is -z).
        grab_radius: m around the grabbed vertex that is held with it.
        hand_force: N that a pointer pulls with at most.
    """

    solver: str
    compare: str
    relaxation: float | None
    budget_ms: float
    iterations: int | None
    fabric: str
    self_contact: bool
    stiffness: float
    time_step: float
    gravity: float
    wind: float
    wind_heading: float
    grab_radius: float
    hand_force: float
    paused: bool
    colour_by: ColourBy
