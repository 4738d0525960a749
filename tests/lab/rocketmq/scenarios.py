"""Scenarios of faults for clients of RocketMQ's proxies.

`python -m tests.lab.rocketmq.scenarios FOLDER SERVER_JARS CLIENT_JARS CLASSES`; README.md says how to get these.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.lab.rocketmq.servers import BROKERS, CONTROLLERS, REPLICAS, Lab

SETTLE = 12
ROUTES = 45
"""Seconds until a changed route has reached a client: the proxy's cache, then the client's scan every 5 s."""


def up(lab: Lab, brokers: int = 2, proxies: int = 1, *, fifo: bool = False, queues: int = 4) -> None:
    """Start servers with a topic and a group."""
    lab.name_server()
    for name in [*BROKERS][:brokers]:
        lab.broker(name)
    time.sleep(SETTLE)
    for name in [*BROKERS][:brokers]:
        for topic in ("orders", "refunds"):
            lab.topic(topic, queues, name)
        lab.group("billing", name, fifo=fifo)
    for number in range(proxies):
        lab.proxy(number)
    time.sleep(SETTLE)


def members(lab: Lab) -> None:
    """Members join, leave, are killed and are held."""
    up(lab)
    for name in ("m1", "m2", "m3"):
        lab.member(name, "billing", "orders")
        time.sleep(SETTLE)
    lab.leave("m2")
    time.sleep(SETTLE)
    lab.kill("m3")
    time.sleep(SETTLE)
    lab.hold("m1", 40)
    lab.member("m4", "billing", "orders", "refunds")
    time.sleep(2 * SETTLE)


def brokers(lab: Lab) -> None:
    """A broker dies and returns; the other one is restarted in good order."""
    up(lab)
    for name in ("m1", "m2"):
        lab.member(name, "billing", "orders")
    time.sleep(2 * SETTLE)
    lab.kill("broker-b")
    time.sleep(ROUTES)
    lab.broker("broker-b")
    time.sleep(ROUTES)
    lab.kill("broker-a", signal.SIGTERM)
    time.sleep(ROUTES)
    lab.broker("broker-a")
    time.sleep(ROUTES)


def proxies(lab: Lab) -> None:
    """A proxy dies and returns while another one serves on; members come and go at both."""
    up(lab, brokers=1, proxies=2)
    lab.member("m1", "billing", "orders", proxy=0)
    lab.member("m2", "billing", "orders", proxy=1)
    time.sleep(2 * SETTLE)
    lab.kill("proxy-0")
    time.sleep(30)
    lab.proxy(0)
    time.sleep(40)
    lab.leave("m2")
    time.sleep(SETTLE)


def ordered(lab: Lab) -> None:
    """A group in order has all queues of a topic; their number changes, and a topic closes and opens."""
    up(lab, brokers=1, fifo=True)
    lab.member("m1", "billing", "orders")
    lab.member("m2", "billing", "orders")
    time.sleep(2 * SETTLE)
    lab.topic("orders", 6, "broker-a")
    time.sleep(ROUTES)
    lab.topic("orders", 3, "broker-a")
    time.sleep(ROUTES)
    lab.topic("orders", 3, "broker-a", permission=2)
    time.sleep(ROUTES)
    lab.topic("orders", 3, "broker-a")
    time.sleep(ROUTES)
    lab.leave("m1")
    time.sleep(SETTLE)


def order_changed(lab: Lab) -> None:
    """A group is set to order, so that whole brokers become single queues; then a topic comes to another broker."""
    up(lab, brokers=2)
    lab.topic("returns", 2, "broker-a")
    lab.member("m1", "billing", "orders", "returns")
    time.sleep(2 * SETTLE)
    for name in BROKERS:
        lab.group("billing", name, fifo=True)
    time.sleep(ROUTES)
    lab.topic("returns", 2, "broker-b")
    time.sleep(ROUTES)
    lab.leave("m1")
    time.sleep(SETTLE)


def elections(lab: Lab) -> None:
    """The master of a broker set dies, returns, stands still and ends in good order; then the controllers' leader dies."""
    lab.name_server()
    for name in CONTROLLERS:
        lab.controller(name)
    time.sleep(SETTLE)
    for name in REPLICAS:
        lab.replica(name)
        time.sleep(SETTLE)
    lab.admin("updateTopic", "-c", "lab", "-t", "orders", "-r", "4", "-w", "4")
    lab.admin("updateSubGroup", "-c", "lab", "-g", "billing", "-o", "true")
    for name in ("m1", "m2"):
        lab.ordered(name, "billing", "orders")
        time.sleep(SETTLE)
    time.sleep(ROUTES)
    first = lab.master("broker-a")
    lab.kill(first)
    time.sleep(ROUTES + SETTLE)
    second = lab.master("broker-a")
    lab.replica(first)
    time.sleep(ROUTES)
    lab.hold(second, 40)
    time.sleep(ROUTES)
    leader = lab.leading_controller()
    lab.kill(leader)
    time.sleep(2 * SETTLE)
    lab.kill(lab.master("broker-a"), signal.SIGTERM)
    time.sleep(ROUTES + SETTLE)
    lab.master("broker-a")
    lab.leave("m2")
    time.sleep(SETTLE)


SCENARIOS: dict[str, Callable[[Lab], None]] = {
    each.__name__: each for each in (members, brokers, proxies, ordered, order_changed, elections)
}


def main() -> None:
    """Run scenarios one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("server_jars", type=Path)
    parser.add_argument("client_jars", type=Path)
    parser.add_argument("classes", type=Path)
    parser.add_argument("names", nargs="*", default=[*SCENARIOS])
    told = parser.parse_args()
    for name in told.names:
        folder = told.folder / name
        folder.mkdir(parents=True)
        lab = Lab(folder, told.server_jars, told.client_jars, told.classes)
        try:
            SCENARIOS[name](lab)
        finally:
            lab.end()


if __name__ == "__main__":
    main()
