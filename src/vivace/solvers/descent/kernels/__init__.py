"""Compiled passes of descent methods."""
