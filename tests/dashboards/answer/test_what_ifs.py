"""What the page says of other configurations."""

from __future__ import annotations

from models.kafka.outages.broker_loss import ClusterLayout, Placement
from pipelines.cli.commands.report import TURNED, broker_losses, what_ifs
from tests.dashboards import made


def test_each_configuration_is_asked_about_each_group() -> None:
    story = made.small_story()
    found = what_ifs(story)
    assert [item.title for item in found] == [title for title, _, _ in TURNED]
    assert all([one.group for one in item.groups] == ["billing", "orders"] for item in found)
    consumer = found[-1]
    assert consumer.total("stopped_seconds") >= consumer.total("saved_seconds") > 0
    assert consumer.assumes


def test_lanes_hold_as_many_rebalances_as_the_numbers_say() -> None:
    lanes = [one for item in what_ifs(made.small_story()) for one in item.groups]
    assert any(one.avoided or one.added for one in lanes)
    for one in lanes:
        assert len(one.was) == one.count
        assert len(one.would_be) == one.count - one.avoided + one.added
        assert list(one.would_be) == sorted(one.would_be)
        assert all(start <= end for start, end in (*one.was, *one.would_be))


def test_rocketmq_alone_has_no_such_question() -> None:
    assert what_ifs(made.queue_story()) == []


def test_brokers_that_alone_keep_partitions_led_are_named() -> None:
    alone = Placement("orders", 4, ("2",), ("2",), "2", True)
    safe = Placement("orders", 5, ("1", "2"), ("1", "2"), "1", True)
    last = Placement("orders", 6, ("1", "2"), ("2",), "2", True)
    (loss,) = broker_losses([ClusterLayout("c", [alone, safe, last], ("1", "2"), ()), ClusterLayout("single", [alone], ("2",), ())])
    assert (loss.node, loss.of, loss.exposed) == ("2", 3, (("orders-4", "single_replica"), ("orders-6", "last_in_sync")))
