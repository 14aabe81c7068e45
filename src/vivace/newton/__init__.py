"""Newton, the physics engine on Warp: `SolverVivace` moves cloth and soft bodies of its models.

from vivace.newton import SolverVivace  # pip install "vivace[newton]"

solver = SolverVivace(model)
solver.step(state_0, state_1, control, contacts, dt)
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from .solver import SolverVivace

__all__ = ["SolverVivace"]


def __getattr__(name: str) -> Any:
    if name != "SolverVivace":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("newton") is None or find_spec("warp") is None:
        raise MissingExtraError("SolverVivace", "newton")
    from .solver import SolverVivace

    return SolverVivace
