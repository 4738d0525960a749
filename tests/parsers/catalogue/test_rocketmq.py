"""RocketMQ's logs: its layouts with their own zone, and its messages against a list made from its sources."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from parsers.catalogue.catalogue import catalogue
from parsers.formats.detection import detect_format
from parsers.reading.reader import ReadOptions, find_files, read_file
from tests.conftest import SHARED

LIST = SHARED / "catalogue" / "rocketmq_messages.yaml"
CORPORA = SHARED / "corpora" / "rocketmq"
KNOWN = {
    "client_start_beginning": "rocketmq.client.consumer_starting",
    "client_push_start_ok": "rocketmq.client.consumer_started",
    "client_pull_start_ok": "rocketmq.client.consumer_started",
    "client_shutdown_ok": "rocketmq.client.consumer_stopped",
    "client_instance_created": "rocketmq.client.client_created",
    "client_unregister_ok": "rocketmq.client.unregistered",
    "client_suspend": "rocketmq.client.paused",
    "client_resume": "rocketmq.client.resumed",
    "client_notify_ids_changed": "rocketmq.client.notified",
    "client_reset_offset_cmd": "rocketmq.client.reset_ordered",
    "client_rebalance_result_changed": "rocketmq.client.share_changed",
    "client_broker_rebalance_result_changed": "rocketmq.client.share_assigned",
    "client_mq_added": "rocketmq.client.queue_added",
    "client_pop_mq_added": "rocketmq.client.queue_added",
    "client_mq_removed": "rocketmq.client.queue_removed",
    "client_mq_truncated": "rocketmq.client.queue_removed",
    "client_pop_mq_removed": "rocketmq.client.queue_removed",
    "client_fix_offset_removed": "rocketmq.client.queue_removed",
    "client_mq_add_failed_lock": "rocketmq.client.queue_refused",
    "client_mq_add_failed_offset": "rocketmq.client.queue_refused",
    "client_mq_compute_offset_failed": "rocketmq.client.queue_refused",
    "client_cid_list_failed": "rocketmq.client.list_failed",
    "client_get_cid_list_exception": "rocketmq.client.list_error",
    "client_bug_not_in_cidall": "rocketmq.client.not_listed",
    "client_lock_one": "rocketmq.client.queue_lock_asked",
    "client_unlock_one": "rocketmq.client.queue_unlocked",
    "client_offset_persist_all": "rocketmq.client.committed",
    "client_offset_persist_one": "rocketmq.client.committed",
    "client_route_changed": "rocketmq.client.route_changed",
    "client_heartbeat_body": "rocketmq.client.heartbeat",
    "broker_new_consumer": "rocketmq.broker.consumer_connected",
    "broker_unregister_consumer": "rocketmq.broker.consumer_unregistered",
    "broker_channel_closed_removed": "rocketmq.broker.consumer_lost",
    "broker_scan_expired_channel": "rocketmq.broker.consumer_expired",
    "broker_sub_add_topic": "rocketmq.broker.topic_subscribed",
    "broker_sub_remove_topic": "rocketmq.broker.topic_unsubscribed",
    "broker_sub_version": "rocketmq.broker.subscription_changed",
    "broker_topic_updated": "rocketmq.broker.topic_changed",
    "broker_offset_reset_started": "rocketmq.broker.reset_started",
    "broker_boot_success": "rocketmq.broker.booted",
    "namesrv_topic_changed": "rocketmq.namesrv.route_topic_changed",
    "namesrv_channel_destroyed": "rocketmq.namesrv.broker_lost",
    "broker_lock_got": "rocketmq.lock.taken",
    "broker_lockbatch_got": "rocketmq.lock.taken",
    "broker_lock_expired_taken": "rocketmq.lock.taken_over",
    "broker_lockbatch_expired_taken": "rocketmq.lock.taken_over",
    "broker_lock_refused": "rocketmq.lock.refused",
    "broker_lockbatch_refused": "rocketmq.lock.refused",
    "broker_unlock": "rocketmq.lock.released",
    "broker_unlock_other_owner": "rocketmq.lock.release_of_another",
    "broker_unlock_not_locked": "rocketmq.lock.release_of_none",
    "broker_unlock_group_missing": "rocketmq.lock.release_of_unknown_group",
    "server_channel_active": "rocketmq.remoting.connected",
    "server_channel_inactive": "rocketmq.remoting.closed",
    "server_channel_idle": "rocketmq.remoting.idle",
    "server_channel_exception": "rocketmq.remoting.failed",
    "server_event_queue_full": "rocketmq.remoting.event_dropped",
    "server_request_rejected": "rocketmq.remoting.rejected",
    "proxy_grpc_channel_removed": "rocketmq.proxy.grpc_client_gone",
    "proxy_remoting_channel_removed": "rocketmq.proxy.remoting_client_gone",
    "proxy_handle_cleared": "rocketmq.proxy.handles_cleared",
    "proxy_heartbeat_sync_failed": "rocketmq.proxy.heartbeat_not_shared",
    "namesrv_boot": "rocketmq.namesrv.booted",
    "namesrv_channel_expired": "rocketmq.namesrv.broker_expired",
    "namesrv_addr_removed": "rocketmq.namesrv.address_removed",
    "namesrv_unreg_live": "rocketmq.namesrv.broker_unregistered",
    "namesrv_unreg_addr": "rocketmq.namesrv.address_unregistered",
    "namesrv_topic_queue_removed": "rocketmq.namesrv.queues_removed",
    "namesrv_topic_deleted_one": "rocketmq.namesrv.topic_deleted_on_broker",
    "namesrv_wipe_write_perm": "rocketmq.namesrv.write_permission_wiped",
    "namesrv_broker_conflict": "rocketmq.namesrv.broker_refused",
    "broker_consumer_clientid_differs": "rocketmq.broker.connection_renamed",
    "broker_consumer_info_changed": "rocketmq.broker.group_changed",
    "broker_scan_group_empty": "rocketmq.broker.group_expired",
    "broker_group_removed": "rocketmq.broker.group_left",
    "broker_notify_ids_failed": "rocketmq.broker.notification_failed",
    "broker_notify_change_failed": "rocketmq.broker.notification_late",
    "broker_get_consumer_list_empty": "rocketmq.broker.list_empty",
    "broker_get_consumer_group_missing": "rocketmq.broker.list_missing",
    "broker_pull_group_info_missing": "rocketmq.broker.pull_of_unknown_group",
    "broker_pull_sub_missing": "rocketmq.broker.pull_of_unknown_topic",
    "broker_pull_sub_not_latest": "rocketmq.broker.pull_of_old_subscription",
    "broker_pull_topic_missing": "rocketmq.broker.pull_of_missing_topic",
    "broker_topic_created": "rocketmq.broker.topic_created",
    "broker_topic_created_internal": "rocketmq.broker.own_topic_created",
    "broker_topic_auto_created": "rocketmq.broker.topic_auto_created",
    "broker_topic_deleted": "rocketmq.broker.topic_deleted",
    "broker_topic_delete_request": "rocketmq.broker.topic_delete_asked",
    "broker_topic_update_request": "rocketmq.broker.topic_change_asked",
    "broker_group_created": "rocketmq.broker.group_configured",
    "broker_group_auto_created": "rocketmq.broker.group_auto_created",
    "broker_offset_backwards": "rocketmq.broker.offset_backwards",
    "broker_offset_topic_removed": "rocketmq.broker.offsets_removed",
    "broker_offset_reset_rejected": "rocketmq.broker.report_refused",
    "broker_offset_reset_success": "rocketmq.broker.reset_told",
    "broker_shutdown_over": "rocketmq.broker.stopped",
    "broker_register_ok": "rocketmq.broker.registered",
    "broker_unregister_ok": "rocketmq.broker.unregistered",
    "broker_min_broker_changed": "rocketmq.broker.acting_master_changed",
    "broker_role_change": "rocketmq.broker.role_change_asked",
    "broker_query_load_no_topic": "rocketmq.broker.no_share_without_topic",
    "broker_query_load_no_list": "rocketmq.broker.no_share_without_list",
    "broker_query_load_strategy": "rocketmq.broker.unknown_strategy",
    "broker_query_load_exception": "rocketmq.broker.no_share_by_error",
    "broker_register_failed": "rocketmq.broker.registration_failed",
    "client_push_start_fail": "rocketmq.client.start_failed",
    "client_instance_reused": "rocketmq.client.instance_shared",
    "client_group_exists": "rocketmq.client.group_exists",
    "client_unregister_failed": "rocketmq.client.unregister_failed",
    "client_subversion_bump": "rocketmq.client.version_raised",
    "client_concurrent_dropped_result": "rocketmq.client.result_dropped",
    "client_orderly_not_locked": "rocketmq.client.waits_for_lock",
    "client_topic_not_exist": "rocketmq.client.no_route",
    "client_allocate_exception": "rocketmq.client.strategy_failed",
    "client_dorebalance_exception": "rocketmq.client.rebalance_failed",
    "client_lock_batch_ok": "rocketmq.client.lock_kept",
    "client_lock_batch_failed": "rocketmq.client.lock_lost",
    "client_lock_exception": "rocketmq.client.lock_error",
    "client_unlock_all_ok": "rocketmq.client.lock_returned",
    "client_unlock_exception": "rocketmq.client.unlock_error",
    "client_unlock_wrong": "rocketmq.client.unlock_waits",
    "client_offset_fetch_exception": "rocketmq.client.offset_unknown",
    "client_pull_offset_illegal": "rocketmq.client.offset_illegal",
    "client_pull_fixed_offset": "rocketmq.client.offset_corrected",
    "client_pull_sub_not_latest": "rocketmq.client.subscription_not_known",
    "client_route_not_exist_value": "rocketmq.client.topic_unknown",
    "client_broker_addr_offline": "rocketmq.client.address_gone",
    "client_broker_name_offline": "rocketmq.client.broker_gone",
    "client_heartbeat_failed": "rocketmq.client.heartbeat_failed",
    "client_heartbeat_v2": "rocketmq.client.heartbeat_sent",
    "client_netty_inactive": "rocketmq.client.connection_closed",
    "client_netty_idle": "rocketmq.client.connection_idle",
    "client_netty_exception": "rocketmq.client.connection_failed",
    "client_connect_failed": "rocketmq.client.connect_failed",
    "client_invoke_sync_timeout": "rocketmq.client.no_answer",
    "namesrv_topic_registered": "rocketmq.namesrv.topic_registered",
    "namesrv_name_removed": "rocketmq.namesrv.broker_removed",
    "namesrv_unreg_name": "rocketmq.namesrv.broker_removed",
}
"""Messages of that list which the models need, and what they are called here."""


@cache
def entries() -> dict[str, dict[str, Any]]:
    if not LIST.is_file():
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {each["id"]: each for each in yaml.load(LIST.read_bytes(), Loader=loader)}  # noqa: S506 - it is the safe loader


@pytest.mark.skipif(not LIST.is_file(), reason="the list of messages is not beside the checkout")
@pytest.mark.parametrize("entry", sorted(KNOWN))
def test_each_form_of_a_message_is_known_with_its_group_and_topic(entry: str) -> None:
    for form in entries()[entry]["forms"]:
        found = catalogue().match(None, form["example"])

        assert found is not None, form["example"]
        assert (found.message_id, found.is_ambiguous) == (KNOWN[entry], False)
        assert ("{group}" in form["template"]) <= ("group" in found.columns)
        assert found.columns.get("group") in {None, "g1"}


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        (b"2023-11-15 06:13:20 INFO ClientManageThread_1 - unregister a consumer[billing] from consumerGroupInfo\n", "rocketmq_server"),
        (b"2023-11-15 06:13:20 INFO ConsumerCoordinator - [Consumer clientId=a, groupId=b] (Re-)joining group\n", "level_logger_dash"),
        (b"2023-11-15 06:13:20,020 INFO RocketmqClient - the consumer [billing] start OK.\r\n", "level_logger_dash"),
    ],
)
def test_a_thread_is_told_from_a_logger(line: bytes, layout: str) -> None:
    told = detect_format(line * 3, is_complete=True)

    assert not isinstance(told, str)
    assert told.layout_name == layout


@pytest.mark.parametrize(
    ("options", "hour"), [([], 22), ([(None, "Europe/Berlin")], 22), ([("*.log", "UTC")], 6)], ids=["default", "for all", "for this file"]
)
def test_a_layout_with_a_zone_of_its_own_yields_to_an_option_that_names_the_file_only(
    tmp_path: Path, options: list[tuple[str | None, str]], hour: int
) -> None:
    path = tmp_path / "broker.log"
    path.write_text("2023-11-15 06:13:20 WARN NettyEventExecutor - SCAN: remove expired channel from ConsumerManager consumerTable. "
                    "channel=10.0.0.5:59172, consumerGroup=billing\n")  # fmt: skip
    read = ReadOptions(log_tz=options)
    (source,) = find_files([str(tmp_path)], read).files
    (chunk,) = read_file(source, read)

    assert [at.hour for at in chunk.events["at"].to_pylist()] == [hour]


@pytest.mark.skipif(not CORPORA.is_dir(), reason="the corpora are not beside the checkout")
@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_no_line_about_a_share_is_missed(version: str) -> None:
    words = {
        "rebalanced result changed. allocate": {"RocketShareChanged", "RocketShareAssigned"},
        ", add a new mq, ": {"RocketQueueAdded"},
        "new consumer connected, group: ": {"RocketConsumerConnected"},
        "receive broker's notification[": {"RocketNotified"},
    }
    for folder in sorted(CORPORA.glob(f"{version}/[a-f]_*/logs")):
        found = find_files([str(folder)])
        texts = [path.read_text(errors="replace") for path in sorted(folder.rglob("*.log"))]
        events = [name for source in found.files for chunk in read_file(source) for name in chunk.events["event"].to_pylist()]
        for literal, names in words.items():
            assert sum(text.count(literal) for text in texts) == sum(name in names for name in events), (folder, literal)


def test_reports_of_one_queue_are_one_event_until_something_happens_in_the_group(tmp_path: Path) -> None:
    def line(second: int, text: str) -> str:
        return f"2023-11-15 06:13:{second:02},020 INFO RocketmqClient - {text}\r\n"

    def report(second: int, queue: int) -> str:
        said = "[persistAll] Group: billing ClientId: c1 updateConsumeOffsetToBroker"
        return line(second, f"{said} MessageQueue [topic=orders, brokerName=a, queueId={queue}] {second}")

    added = line(27, "doRebalance, billing, add a new mq, MessageQueue [topic=orders, brokerName=a, queueId=2]")
    lines = [report(second, queue) for second in (15, 20, 25) for queue in (0, 1)] + [added] + [report(30, queue) for queue in (0, 1)]
    path = tmp_path / "rocketmq_client.log"
    path.write_text("".join(lines), newline="")
    (source,) = find_files([str(path)]).files
    events = [
        (row["event"], row["partition"], orjson.loads(row["fields"]).get("count"))
        for chunk in read_file(source, ReadOptions(fold_runs=True))
        for row in chunk.events.to_pylist()
    ]

    runs = [("RocketOffsetSent", 0, 3), ("RocketOffsetSent", 1, 3)]
    alone = [("RocketOffsetSent", 0, None), ("RocketOffsetSent", 1, None)]
    assert events == [*runs, ("RocketQueueAdded", 2, None), *alone]
