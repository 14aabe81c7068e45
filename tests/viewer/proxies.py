"""A tiny proxy for tests: it hands a connection on, byte by byte, after it has changed the Host of its request."""

import asyncio
import re
import threading
from contextlib import contextmanager, suppress


async def _hand_on(reader, writer):
    with suppress(ConnectionError, asyncio.CancelledError):
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    writer.close()


@contextmanager
def rewriting(port):
    """A proxy that stands before `port` and calls it localhost; its own port."""
    loop, ready, there = asyncio.new_event_loop(), threading.Event(), {}

    async def attend(reader, writer):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            head = re.sub(rb"\r\nHost: [^\r]*", b"\r\nHost: localhost:%d" % port, head, flags=re.IGNORECASE)
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            inner_writer.write(head)
            await asyncio.gather(_hand_on(reader, inner_writer), _hand_on(inner_reader, writer))

    async def serve():
        server = await asyncio.start_server(attend, "127.0.0.1", 0)
        there["port"] = server.sockets[0].getsockname()[1]
        there["end"] = asyncio.Event()
        ready.set()
        async with server:
            await there["end"].wait()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield there["port"]
    finally:
        loop.call_soon_threadsafe(there["end"].set)
        thread.join()
