"""The extension as the zip that Blender installs: its files, its manifest, and the wheels it needs.

Blender has Python 3.11 from 4.2 to 5.0, and NumPy of its own: that stays out, and wheels are chosen to go with it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution, requires
from os import PathLike
from pathlib import Path

from .._version import __version__
from ..checks import as_path
from ..errors import FileError, InputError
from ..files import replacing

FILES = Path(__file__).with_name("extension")
PYTHON = "3.11"  # of Blender 4.2 to 5.0
OWN = ("numpy", "requests", "certifi", "charset_normalizer", "idna", "urllib3", "zstandard", "cython")  # Blender's own
CONSTRAINTS = "numpy>=1.26,<2\n"
Progress = Callable[[str], None]


def manifest(wheels: Sequence[str] = ()) -> str:
    """`blender_manifest.toml`, of an extension with these wheels in its folder `wheels`."""
    version = re.match(r"\d+\.\d+\.\d+", __version__)
    if version is None:
        raise InputError(f"Blender wants versions such as 1.2.3, and this is {__version__}")
    lines = [
        'schema_version = "1.0.0"',
        'id = "vivace"',
        f'version = "{version.group()}"',
        'name = "Vivace"',
        'tagline = "Cloth under a time budget, baked to a cache"',
        'maintainer = "The Vivace developers"',
        'type = "add-on"',
        'tags = ["Physics", "Animation"]',
        'blender_version_min = "4.2.0"',
        'license = ["SPDX:Apache-2.0"]',
        *([f"platforms = {json.dumps(platforms(wheels))}"] if platforms(wheels) else []),
        *(["wheels = [", *(f'  "./wheels/{name}",' for name in sorted(wheels)), "]"] if wheels else []),
        "",
        "[permissions]",
        'files = "Write caches of simulated meshes"',
    ]
    return "\n".join(lines) + "\n"


def platforms(wheels: Sequence[str]) -> tuple[str, ...]:
    """Blender's names of the platforms that compiled wheels are for; none: all."""
    known = (
        ("manylinux", "x86_64", "linux-x64"), ("manylinux", "aarch64", "linux-arm64"),
        ("linux_x86_64", "", "linux-x64"),
        ("macosx", "arm64", "macos-arm64"), ("macosx", "x86_64", "macos-x64"), ("win_amd64", "", "windows-x64"),
    )  # fmt: skip
    found = {name for wheel in wheels for a, b, name in known if a in wheel and b in wheel}
    return tuple(sorted(found))


def build_extension(
    out: str | PathLike[str],
    *,
    wheels: bool | str | PathLike[str] = True,
    progress: Progress | None = None,
) -> Path:
    """Write the extension's zip.

    Args:
        out: where to.
        wheels: True: collect them by pip, Vivace's own included; False: none, for those who have installed Vivace into
            Blender's Python themselves; or a folder of wheels.
        progress: called with a line that says what is being done.
    """
    path = as_path(out)
    if path.suffix != ".zip":
        raise InputError(f"an extension of Blender is a .zip, not {path.name!r}")
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; choose another name")
    with tempfile.TemporaryDirectory(prefix="vivace-wheels-") as folder:
        found: list[Path] = []
        if wheels is True:
            found = collect(Path(folder), progress)
        elif wheels is not False:
            found = sorted(as_path(wheels).glob("*.whl"))
            if not any(wheel.name.startswith("vivace-") for wheel in found):
                raise InputError(f"{wheels} has no wheel of vivace; make one: pip wheel --no-deps -w {wheels} .")
        found = [wheel for wheel in found if _name(wheel) not in OWN]
        with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, "blender_manifest.toml", manifest([wheel.name for wheel in found]).encode())
            for file in sorted(FILES.glob("*.py")):
                _add(archive, file.name, file.read_bytes())
            for wheel in found:  # compressed already
                archive.write(wheel, f"wheels/{wheel.name}", compress_type=zipfile.ZIP_STORED)
    return path


def collect(folder: Path, progress: Progress | None = None) -> list[Path]:
    """Wheels of Vivace and of all that it needs, by pip, for Blender's Python on a machine such as this."""
    if sys.version_info[:2] != tuple(map(int, PYTHON.split("."))):
        raise InputError(
            f"Blender has Python {PYTHON}, and wheels are collected for the Python that runs this, "
            f"{sys.version_info[0]}.{sys.version_info[1]}; run it with {PYTHON}, or give a folder of wheels"
        )
    say = progress or (lambda line: None)
    limits = folder / "constraints.txt"
    limits.write_text(CONSTRAINTS, encoding="utf-8")
    say("building the wheel of vivace")
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), _source())
    say("collecting what it needs")
    _pip("download", "--only-binary", ":all:", "--dest", str(folder), "--constraint", str(limits), *_needs())
    return sorted(folder.glob("*.whl"))


def _needs() -> list[str]:
    """What the package says it needs, without its extras."""
    try:
        found = requires("vivace") or []
    except PackageNotFoundError:
        found = []
    plain = [line for line in found if "extra ==" not in line]
    if not plain:
        raise InputError("vivace is not installed as a package, so that what it needs is not known; pip install it")
    return plain


def _source() -> str:
    """Where pip finds this version: the clone it runs from, or the index."""
    root = Path(__file__).resolve().parents[3]
    if (root / "pyproject.toml").exists() and (root / "src" / "vivace").is_dir():
        return str(root)
    return f"vivace=={distribution('vivace').version}"


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()][-3:]
        raise FileError(f"pip {arguments[0]} failed: " + " ".join(last))


def _name(wheel: Path) -> str:
    return wheel.name.partition("-")[0].lower()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """The same bytes give the same zip, whenever it is made."""
    entry = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(entry, content)
