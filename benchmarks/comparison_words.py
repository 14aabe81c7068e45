"""From measured numbers to docs/comparison.md: the words of `comparison.py`, which has the command."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

TEMPLATE = Path(__file__).with_name("comparison.md.in")
WIDTH = 120


def number(value: float | None) -> str:
    """Two digits; a dash where there is nothing to tell."""
    if value is None or np.isnan(value):
        return "–"
    if not np.isfinite(value):
        return "lost"
    return f"{value:.0f}" if 10 <= abs(value) < 1e5 else f"{value:.2g}"


def label(solver: str) -> str:
    """A solver as the plots name it."""
    given = re.sub(r":rho=([0-9.]+),watch=False", r" with ρ = \1", solver)
    return given.replace(",gamma=", " and γ = ").partition(":")[0]


def code(solver: str) -> str:
    """A solver, or its label, as the page names it."""
    name, space, rest = label(solver).partition(" ")
    return f"`{name}`{space}{rest}"


def listed(parts: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def page(parts: Mapping[str, Mapping]) -> str:
    """The template with the numbers of {part: {"settings": ..., "values": ...}} in place.

    Its sections begin with a line "@@ part". One without numbers says so, and one whose numbers were not made like
    the first one's says how.
    """
    head, *sections = re.split(r"^@@ (\w+)\n", TEMPLATE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    common = next(iter(parts.values()))["settings"]
    text = filled(head, {"settings": made_by(common)})
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        title, _, body = section.partition("\n")
        if name not in parts:
            body = "\nNot measured yet.\n\n"
        elif parts[name]["settings"] != common:
            body = f"\n{made_by(parts[name]['settings'])}\n{body}"
        text += f"{title}\n{filled(body, parts[name]['values'] if name in parts else {})}"
    return "\n\n".join(wrapped(block) for block in text.strip().split("\n\n")) + "\n"


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with each {{name}} replaced by its value."""
    return re.sub(r"\{\{([^}]+)\}\}", lambda match: values[match[1]], text)


def wrapped(block: str) -> str:
    """A paragraph filled anew, because numbers have other lengths than their names; all else as it is."""
    if block.startswith(("|", "#", "!", "```")):
        return block
    return textwrap.fill(" ".join(block.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def made_by(settings: Mapping) -> str:
    """The settings in words."""
    text = (
        f"Made by vivace {settings['version']} on {settings['threads']} threads. Tablecloth: {settings['tablecloth']}. "
    )
    text += f"Armadillo: {settings['armadillo']}."
    if settings["quick"]:
        text += " Tiny scenes (`--quick`): these numbers show that the command works, and nothing else."
    return text
