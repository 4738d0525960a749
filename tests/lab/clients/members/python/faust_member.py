"""Faust application: `faust -A faust_member worker -l info`."""

import asyncio
import os
from pathlib import Path

import faust

STALL = Path(os.environ["STALL"])
app = faust.App(
    os.environ["GROUP"],
    broker=f"kafka://{os.environ['BOOTSTRAP']}",
    broker_client_id=os.environ["CLIENT"],
    broker_session_timeout=6.0,
    broker_heartbeat_interval=1.5,
    broker_max_poll_interval=8.0,
    web_enabled=False,
    topic_disable_leader=True,
    value_serializer="raw",
)


@app.agent(app.topic(os.environ["TOPIC"], value_type=bytes))
async def take(values):
    async for _ in values:
        if STALL.exists():
            seconds = float(STALL.read_text())
            STALL.unlink()
            await asyncio.sleep(seconds)
