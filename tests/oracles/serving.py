"""An application that runs in the loop of a test, and a client of it."""

from contextlib import asynccontextmanager

import httpx


@asynccontextmanager
async def running(application):
    """Run an application from its start to its stop; yield a client."""
    transport = httpx.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        yield client
