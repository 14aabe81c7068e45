"""The geometry of a house of cards: where each card starts so that all that is to touch just does."""

from __future__ import annotations

import math

from ..collisions.colliders import Box

OVERHANG = 4.0  # of the outer ends of a level card over the outer apexes, in half thicknesses
ROOM = 0.25  # between cards that are not to touch, in half thicknesses


def cards(storeys: int, lean: float, height: float, width: float, thickness: float) -> list[Box]:
    r"""Pairs of cards that lean on each other by an angle (rad), and level ones between storeys, from the ground up.

    A leaning card is all within r, half its thickness, of a flat rectangle. Seen from the side, its core goes from a
    foot to a top, and the cores of two that lean on each other end 2 r apart, so that they just touch:

        _______________   _______________
           /\          /\          /\
          /  \        /  \        /  \
         /    \      /    \      /    \

    A level card lies on one card of each of two apexes, at the outer ends of a storey on both: an apex that is loaded
    on one side only opens. The feet of the next storey stand over apexes, so that loads go straight down.
    """
    r, l = 0.5 * thickness, 0.5 * (height - thickness)  # noqa: E741  the length of half a core
    across, up = l * math.sin(lean), l * math.cos(lean)
    pitch = 2 * (r + 2 * across) + 2 * r + ROOM * r  # from apex to apex
    shapes: list[Box] = []
    floor = 0.0
    for pairs in range(storeys, 0, -1):
        apexes = [pitch * (k - 0.5 * (pairs - 1)) for k in range(pairs)]
        for apex in apexes:
            for side in (-1.0, 1.0):
                centre = (apex + side * (r + across), floor + r + up, 0.0)
                shapes.append(Box(centre, (r, l + r, 0.5 * width), rotate=(0.0, 0.0, side * lean), rounding=r))
        level = floor + 2 * r + 2 * up + r
        for k in range(pairs - 1):
            left = apexes[k] - OVERHANG * r if k == 0 else apexes[k] + 0.5 * ROOM * r
            right = apexes[k + 1] + OVERHANG * r if k == pairs - 2 else apexes[k + 1] - 0.5 * ROOM * r
            shapes.append(Box((0.5 * (left + right), level, 0.0), (0.5 * (right - left), r, 0.5 * width)))
        floor = level + r
    return shapes
