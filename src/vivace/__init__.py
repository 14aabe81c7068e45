"""Vivace: soft bodies under a millisecond budget."""

__version__ = "0.1.0"
