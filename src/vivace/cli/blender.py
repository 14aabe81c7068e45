"""`vivace blender-extension`: the zip that Blender installs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..blender import build_extension
from ..files import check_writable
from .console import out, show_json

DETAILS = """Build the extension for Blender (4.2 to 5.0): bake cloth from the physics tab.

Wheels of vivace and of all that it needs go into the zip, collected by pip for this machine's platform. In Blender:
Preferences, Get Extensions, Install from Disk; or

  vivace blender-extension --out vivace.zip
  blender --command extension install-file -r user_default --enable vivace.zip"""


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """Where to, and with which wheels."""
    sub.add_argument("--out", type=Path, default=Path("vivace.zip"), metavar="FILE.zip", help="default: vivace.zip")
    sub.add_argument("--wheels", type=Path, metavar="FOLDER", help="take wheels from there instead of asking pip")
    sub.add_argument("--no-wheels", action="store_true", help="none: vivace is in Blender's Python already")
    sub.add_argument("--json", action="store_true", help="print where it is as JSON")


def build(arguments: argparse.Namespace) -> None:
    """Build the zip: `vivace blender-extension`."""
    check_writable(arguments.out)
    wheels = False if arguments.no_wheels else (arguments.wheels or True)
    tell = None if arguments.json else (lambda line: out.print(line, style="dim"))
    path = build_extension(arguments.out, wheels=wheels, progress=tell)
    if arguments.json:
        return show_json({"out": str(path), "bytes": path.stat().st_size})
    out.print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
