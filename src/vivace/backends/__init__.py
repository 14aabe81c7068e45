"""Where compiled code runs; `cpu` is the only backend."""
