"""Polyscope, drawing off screen through EGL. It never opens a window, even where there is a display."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .backdrop import Backdrop, enlarge, reduce
from .backends import RENDERERS, Renderer, RendererUnavailable, View

PROBE_SECONDS = 60  # a busy machine may take a third of that
BEHIND = 1.005  # distance at which scenery is drawn, in its own
HELP = 'pip install "vivace[pictures]", and on Linux also the system package libegl1 (apt install libegl1)'

# Some drivers crash instead of failing. This draws one real triangle in a process of its own, because a context
# that opens can still die in its first shader.
PROBE = """
import os
import polyscope as ps
ps.set_allow_headless_backends(True)
ps.set_use_prefs_file(False)
ps.set_verbosity(0)
ps.set_errors_throw_exceptions(True)
ps.init("openGL3_egl")
import numpy as np
ps.register_surface_mesh("probe", np.eye(3), np.array([[0, 1, 2]]))
ps.set_window_size(64, 64)
ok = ps.screenshot_to_buffer(transparent_bg=False).shape[:2] == (64, 64)
os._exit(0 if ok else 3)
"""


@functools.cache
def polyscope_trouble() -> str:
    """Why polyscope cannot be used here, or an empty string. Found out once for each process."""
    if importlib.util.find_spec("polyscope") is None:
        return f"polyscope is not installed; {HELP}"
    if not sys.executable:
        return "there is no Python executable to try it with"
    with tempfile.TemporaryDirectory() as folder:
        try:
            # A folder of its own: Dear ImGui may leave a settings file where it runs.
            outcome = subprocess.run(
                [sys.executable, "-c", PROBE],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"polyscope did not start within {PROBE_SECONDS} s; {HELP}"
        except OSError as error:
            return f"polyscope could not be tried ({error.strerror or error})"
    if outcome.returncode == 0:
        return ""
    last = outcome.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {outcome.returncode}"]
    return f"polyscope could not open an off-screen OpenGL context ({last[0].strip()[:200]}); {HELP}"


@contextmanager
def _quiet_egl() -> Iterator[None]:
    """Mesa writes warnings about missing devices to standard error unless told not to."""
    before = os.environ.get("EGL_LOG_LEVEL")
    os.environ["EGL_LOG_LEVEL"] = "fatal"
    try:
        yield
    finally:
        if before is None:
            del os.environ["EGL_LOG_LEVEL"]
        else:
            os.environ["EGL_LOG_LEVEL"] = before


@functools.cache
def _library() -> Any:
    """Polyscope, initialised once for this process."""
    trouble = polyscope_trouble()
    if trouble:
        raise RendererUnavailable(trouble)
    import polyscope as ps

    if ps.is_initialized():
        raise RendererUnavailable("this program already uses polyscope for itself")
    ps.set_allow_headless_backends(True)
    ps.set_use_prefs_file(False)
    ps.set_verbosity(0)
    ps.set_errors_throw_exceptions(True)
    ps.set_warn_for_invalid_values(False)
    try:
        with _quiet_egl():
            ps.init("openGL3_egl")
    except Exception as error:
        raise RendererUnavailable(f"polyscope did not start ({error}); {HELP}") from error
    ps.set_automatically_compute_scene_extents(False)
    ps.set_background_color((1.0, 1.0, 1.0, 0.0))
    ps.set_ground_plane_mode("none")  # its blurred shadow costs ten times as much as the rest; Backdrop has one
    return ps


def _tint(rgb: ArrayLike) -> NDArray[Any]:
    """Polyscope's materials and tone mapping wash colours out; squaring them brings the sRGB look back."""
    return np.asarray(rgb, dtype=float) ** 2


@RENDERERS.register("polyscope")
class PolyscopeRenderer(Renderer):
    """Polyscope keeps one scene for the whole process, so the renderer that draws takes it over."""

    _owner: PolyscopeRenderer | None = None

    def __init__(self, view: View):
        super().__init__(view)
        self._ps = _library()
        self._backdrop = Backdrop(view)
        # A curve network draws a ball at each of its nodes, so it only gets the vertices that have an edge.
        self._nodes, links = np.unique(view.edges, return_inverse=True)
        self._links = links.reshape(-1, 2)
        self._mesh: Any = None
        self._wires: Any = None
        self._dots: Any = None
        self._coloured = False

    def _draw(self, positions: NDArray[Any], rgb: NDArray[Any] | None) -> NDArray[np.uint8]:
        if PolyscopeRenderer._owner is not self:
            self._take_over(positions)
        view = self.view
        if len(view.triangles):
            self._mesh.update_vertex_positions(positions)
        if len(view.edges):
            self._wires.update_node_positions(positions[self._nodes])
        if len(view.points):
            self._dots.update_point_positions(positions[view.points])
        self._paint(rgb)
        picture = self._ps.screenshot_to_buffer(transparent_bg=True)
        solid = picture[:, :, 3:] > 127
        # The background goes in before the samples are averaged, so that outlines come out smooth.
        backdrop = enlarge(self._backdrop.paint(positions), view.samples)
        return reduce(np.where(solid, picture[:, :, :3], backdrop), view.samples)

    def _paint(self, rgb: NDArray[Any] | None) -> None:
        target = self._mesh if len(self.view.triangles) else self._wires if len(self.view.edges) else None
        if target is None or (rgb is None and not self._coloured):
            return
        if rgb is None:
            target.remove_quantity("colours")
        else:
            shown = rgb if target is self._mesh else rgb[self._nodes]
            target.add_color_quantity("colours", _tint(shown), enabled=True)
        if target is self._mesh:
            self._mesh.set_back_face_policy("custom" if rgb is None else "different")
        self._coloured = rgb is not None

    def _take_over(self, positions: NDArray[Any]) -> None:
        ps, view, look = self._ps, self.view, self.view.look
        ps.remove_all_structures()
        PolyscopeRenderer._owner = self
        self._coloured = False
        if len(view.triangles):
            self._mesh = ps.register_surface_mesh(
                "mesh",
                positions,
                view.triangles,
                smooth_shade=True,
                material="clay",
                color=tuple(_tint(look.front)),
                back_face_policy="custom",
                back_face_color=tuple(_tint(look.back)),
            )
        if view.scenery is not None and len(view.scenery.triangles):
            # A hair farther along the line of sight looks the same, and flat triangles on a round thing stay before it.
            eye = np.asarray(view.camera.eye)
            ps.register_surface_mesh(
                "scenery",
                eye + BEHIND * (view.scenery.vertices - eye),
                view.scenery.triangles,
                smooth_shade=True,
                material="clay",
                color=tuple(_tint(look.scenery)),
                back_face_policy="cull",
            )
        if len(view.edges):
            self._wires = ps.register_curve_network(
                "wires", positions[self._nodes], self._links, color=tuple(_tint(look.wire)), material="clay"
            )
            self._wires.set_radius(view.wire_radius, relative=False)
        if len(view.points):
            self._dots = ps.register_point_cloud(
                "points", positions[view.points], color=tuple(_tint(look.point)), material="wax"
            )
            self._dots.set_radius(view.point_radius, relative=False)
        self._place_camera()

    def _place_camera(self) -> None:
        ps, view, camera = self._ps, self.view, self.view.camera
        # Supersampling by hand: with polyscope's own (2.6.1), outlines in screenshots stay jagged.
        ps.set_window_size(view.size[0] * view.samples, view.size[1] * view.samples)
        # The clipping planes follow the extents.
        target, reach = np.asarray(camera.target), 2 * camera.view_radius
        ps.set_length_scale(reach)
        ps.set_bounding_box(target - reach / 2, target + reach / 2)
        axis = {(1.0, 0.0, 0.0): "x_up", (0.0, 1.0, 0.0): "y_up", (0.0, 0.0, 1.0): "z_up"}.get(camera.up)
        if axis is not None:
            ps.set_up_dir(axis)
        ps.set_vertical_fov_degrees(camera.fov_degrees)
        ps.look_at_dir(camera.eye, camera.target, camera.up)

    def close(self) -> None:
        """Remove what was drawn, unless another renderer has taken over."""
        if PolyscopeRenderer._owner is self:
            self._ps.remove_all_structures()
            PolyscopeRenderer._owner = None
