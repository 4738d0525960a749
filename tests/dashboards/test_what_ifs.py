"""What the page says of other configurations."""

from __future__ import annotations

from pipelines.cli.report import TURNED, what_ifs
from tests.dashboards import made


def test_each_configuration_is_asked_about_each_group() -> None:
    story = made.small_story()
    found = what_ifs(story.rebalances, story.rebalance_members)
    assert [item.title for item in found] == [title for title, _, _ in TURNED]
    assert all([one.group for one in item.groups] == ["billing", "orders"] for item in found)
    consumer = found[-1]
    assert consumer.total("stopped_seconds") >= consumer.total("saved_seconds") > 0
    assert consumer.assumes


def test_rocketmq_alone_has_no_such_question() -> None:
    assert what_ifs(made.queue_story().rebalances, []) == []
