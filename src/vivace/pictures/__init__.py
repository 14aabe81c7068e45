"""Shaded meshes to PNG, animations to MP4 and GIF, and plots; all without a screen.

Nothing heavy is loaded until something is drawn: matplotlib, Pillow and polyscope are imported where they are used.
"""

from .animation import Film, save_animation, save_picture
from .backends import RENDERERS, Look, Renderer
from .camera import Camera, bounds_of
from .inline import InlineFilm
from .opening import open_renderer
from .palette import body_colours
from .plots import (
    Panel,
    adjacency_before_after,
    error_against_time,
    error_summary,
    panel_grid,
    residual_curves,
    save_figure,
)
from .scenery import Scenery

__all__ = [
    "RENDERERS",
    "Camera",
    "Film",
    "InlineFilm",
    "Look",
    "Panel",
    "Renderer",
    "Scenery",
    "adjacency_before_after",
    "body_colours",
    "bounds_of",
    "error_against_time",
    "error_summary",
    "open_renderer",
    "panel_grid",
    "residual_curves",
    "save_animation",
    "save_figure",
    "save_picture",
]
