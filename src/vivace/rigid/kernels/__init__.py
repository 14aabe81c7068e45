"""Compiled functions of rigid bodies: arrays in, arrays out."""
