"""Compiled functions of pictures: arrays in, arrays out."""
