"""Contact sheets: many small pictures on one, each with a line under it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import writing

MOST = 400  # pictures of a sheet; what is more goes onto another
WIDEST = 24  # pictures beside each other
LINE, GAP = 18, 6  # pixels: of the text, and around everything
PAPER, INK = "#FFFFFF", "#222222"


def contact_sheet(path: Path, pictures: Sequence[Path], labels: Sequence[str], *, columns: int = 0) -> list[Path]:
    """Put PNG pictures of one size onto sheets, row by row; returns the files that were written.

    Args:
        path: of the first sheet; others are NAME-2.png, ...
        pictures: files.
        labels: a line for each.
        columns: beside each other; 0, 1 or too many: as many as make a sheet about as wide as it is high.
    """
    if len(pictures) != len(labels) or not pictures:
        raise InputError(f"a contact sheet has one label for each picture, not {len(labels)} for {len(pictures)}")
    written = []
    for number, first in enumerate(range(0, len(pictures), MOST), 1):
        target = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        chosen = slice(first, first + MOST)
        _sheet(target, pictures[chosen], labels[chosen], columns)
        written.append(target)
    return written


def _sheet(path: Path, pictures: Sequence[Path], labels: Sequence[str], columns: int) -> None:
    from PIL import Image, ImageDraw, ImageFont

    images = [Image.open(picture).convert("RGB") for picture in pictures]
    width, height = (max(image.size[k] for image in images) for k in (0, 1))
    across = columns if 1 < columns <= WIDEST else ceil(sqrt(len(images) * height / width))
    across = min(across, len(images))
    down = ceil(len(images) / across)
    wide, high = width + GAP, height + LINE + GAP
    sheet = Image.new("RGB", (across * wide + GAP, down * high + GAP), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for k, (image, label) in enumerate(zip(images, labels, strict=True)):
        x, y = GAP + k % across * wide, GAP + k // across * high
        sheet.paste(image, (x, y))
        draw.text((x, y + height + 2), _fitting(label, width, font), fill=INK, font=font)
    with writing(path) as temporary:
        sheet.save(temporary, format="PNG")


def _fitting(label: str, width: int, font: Any) -> str:
    """As much of a line as there is room for."""
    if font.getlength(label) <= width:
        return label
    while label and font.getlength(f"{label} …") > width:
        label = label[:-1]
    return f"{label} …"
