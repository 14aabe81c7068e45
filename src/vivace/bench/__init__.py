"""Measurements that can be believed: warmed up, repeated, with their spread and the settings that made them."""
