"""Things to drape cloth over: an armchair, a table, a tube. They stand on y = 0."""

from __future__ import annotations

from ..checks import check_size
from .colliders import Box, Capsule, Collider, Friction

_RECLINE = 0.14  # rad: how far the back leans


def armchair(scale: float = 1.0, friction: Friction = None) -> list[Collider]:
    """An armchair that faces +z: seat (0.70 m wide, 0.45 m high), back (to 0.95 m), arm rests with round tops, legs.

    Args:
        scale: 1 for those sizes.
        friction: of all its parts; a coefficient, or (static, kinetic), or None for the simulation's own.
    """
    check_size("scale", scale)
    scale = float(scale)

    def at(*lengths: float) -> tuple[float, float, float]:
        x, y, z = (scale * length for length in lengths)
        return x, y, z

    parts: list[Collider] = [
        Box(at(0, 0.35, 0), at(0.35, 0.10, 0.35), rounding=0.04 * scale, friction=friction),  # seat
        Box(at(0, 0.64, -0.33), at(0.35, 0.31, 0.07), (-_RECLINE, 0, 0), 0.05 * scale, friction),  # back
    ]
    for side in (-0.42, 0.42):
        parts.append(Box(at(side, 0.40, 0), at(0.06, 0.20, 0.35), rounding=0.02 * scale, friction=friction))
        parts.append(Capsule(at(side, 0.60, -0.29), at(side, 0.60, 0.31), 0.08 * scale, friction))
    for x in (-0.38, 0.38):
        for z in (-0.30, 0.30):
            parts.append(Capsule(at(x, 0.03, z), at(x, 0.26, z), 0.03 * scale, friction))
    return parts


def table(
    side: float = 1.0,
    height: float = 0.75,
    thickness: float = 0.02,
    friction: Friction = None,
    rounding: float = 0.0,
) -> Box:
    """A square table top.

    Args:
        side: in m.
        height: of its upper face, in m.
        thickness: in m.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
        rounding: radius of its edges and corners, in m.
    """
    for name, value in (("side", side), ("height", height), ("thickness", thickness)):
        check_size(name, value)
    half = 0.5 * side, 0.5 * thickness, 0.5 * side
    return Box((0, height - 0.5 * thickness, 0), half, rounding=rounding, friction=friction)


def tube(radius: float = 0.1, length: float = 1.0, height: float = 0.5, friction: Friction = None) -> Capsule:
    """A tube along x with round ends.

    Args:
        radius: in m.
        length: of its axis, in m.
        height: of its axis, in m.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
    """
    for name, value in (("radius", radius), ("length", length), ("height", height)):
        check_size(name, value)
    return Capsule((-0.5 * length, height, 0), (0.5 * length, height, 0), radius, friction)
