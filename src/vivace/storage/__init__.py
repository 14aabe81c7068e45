"""Objects as data in files: what may be stored, by name, and the container it is stored in."""

from .container import Stored, read_container, write_container
from .values import STORABLES, Unstorable, pack, storable, unpack

__all__ = ["STORABLES", "Stored", "Unstorable", "pack", "read_container", "storable", "unpack", "write_container"]
