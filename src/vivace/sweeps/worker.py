"""A process that makes runs: `python -m vivace.sweeps.worker`, which is told by one line of JSON where to join.

It loads what runs need before it joins, so that nothing waits for it, and ends when the scheduler has gone, or the
process that started it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from typing import Any

LONGEST = 1 << 20


async def _work(told: dict[str, Any]) -> None:
    import dask
    from distributed import Security, Worker

    dask.config.set({"distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "30s"})
    security = Security(**told["security"]) if told["security"] else None
    worker = Worker(told["address"], nthreads=1, memory_limit=0, security=security, dashboard=False, name=told["name"])
    async with worker:
        await worker.finished()


def _end_with_starter() -> None:
    """The starter holds the other end of standard input: it ends when that process does, however that ends."""
    while os.read(0, LONGEST):
        pass
    os._exit(0)


def main() -> int:
    """Join, and work until there is nobody to work for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    import distributed  # noqa: F401  takes a while, as does the other: both before there is an address to join

    from . import task  # noqa: F401

    line = b""
    while not line.endswith(b"\n"):
        read = os.read(0, 1)
        if not read or len(line) > LONGEST:
            return 0
        line += read
    threading.Thread(target=_end_with_starter, daemon=True).start()
    asyncio.run(_work(json.loads(line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
