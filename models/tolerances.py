"""Tolerances and thresholds of the rules, each with its value and its source.

Times are in the unit that ends the name. What a rule means by one stands at the constant that the rule reads it into. "assumed" are
those that nobody measured, also where a source gives the setting that they follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.units import US_PER_MS, US_PER_SECOND

ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A figure and where it comes from."""

    value: float
    source: str = ASSUMED


TOLERANCES: Mapping[str, Tolerance] = {
    "durations.milliseconds_below_seconds": Tolerance(0.9995, "rounds to 1 s"),
    "durations.tenths_below_seconds": Tolerance(9.95, "rounds to 10 s"),
    "times.witnesses_us": Tolerance(60_000),
    # Those that are settings, too, equal `[incidents]` of conf/default.toml, as a test checks. The settings shape incidents;
    # root causes follow the gap given here, whatever the settings say (`mark_rolling_restarts`).
    "incidents.episode_gap_seconds": Tolerance(120.0, "assumed: a default of conf/default.toml"),
    "incidents.flapping_gap_seconds": Tolerance(300.0, "assumed: max.poll.interval.ms by default (ConsumerConfig)"),
    "incidents.storm_count": Tolerance(6, "assumed: a default of conf/default.toml"),
    "incidents.flapping_count": Tolerance(3, "assumed: a default of conf/default.toml"),
    "incidents.scaling_gap_seconds": Tolerance(
        600.0, "assumed: twice the default of behavior.scaleDown.stabilizationWindowSeconds (HorizontalPodAutoscaler)"
    ),
    "incidents.likely": Tolerance(0.6),
    "incidents.shortest_seconds": Tolerance(0.0005),
    "incidents.slow_join_seconds": Tolerance(5.0, "assumed: a default of conf/default.toml"),
    "incidents.stuck_seconds": Tolerance(60.0, "assumed: a default of conf/default.toml"),
    "incidents.critical_stopped_seconds": Tolerance(300.0, "assumed: a default of conf/default.toml"),
    "incidents.critical_share_of_hour": Tolerance(0.1, "assumed: a default of conf/default.toml"),
    "incidents.critical_ownership_seconds": Tolerance(60.0, "assumed: a default of conf/default.toml"),
    "incidents.handover_seconds": Tolerance(
        25.0, "clients look at their shares every 20 s (RebalanceService.java), and then take or lock queues"
    ),
    "incidents.routine_share_min": Tolerance(0.8, "assumed: a default of conf/default.toml"),
    "incidents.line_placement.near_us": Tolerance(5_000_000),
    "incidents.line_placement.behind_us": Tolerance(60_000_000),
    "incidents.standing_conditions.coordinator_ids_from": Tolerance(
        1_000_000_000, "half of the largest integer, from which broker ids are subtracted (AbstractCoordinator); brokers count from 0"
    ),
    "incidents.standing_conditions.deliveries_max": Tolerance(5, "group.share.delivery.count.limit, 5 (ShareGroupConfig.java)"),
    "incidents.standing_conditions.not_ready_min_us": Tolerance(
        10_000_000, "twice group.streams.heartbeat.interval.ms, 5 s by default (KIP-1071); the factor assumed"
    ),
    "incidents.standing_conditions.unavailable_min_us": Tolerance(
        60_000_000, "default.api.timeout.ms, 60 s by default (ConsumerConfig): a commit fails"
    ),
    "incidents.standing_conditions.found_in_vain_us": Tolerance(
        3_000_000, "heartbeat.interval.ms, 3 s by default (ConsumerConfig): a member whose coordinator is there was answered by then"
    ),
    "incidents.standing_conditions.restoring_min_us": Tolerance(60_000_000, "incidents.stuck_seconds"),
    "incidents.refusals.behind_us": Tolerance(5_000_000),
    "incidents.static_restarts.kept_us": Tolerance(2_000_000),
    "kafka.expiry_bursts.together_us": Tolerance(1_000_000, "below the least usual heartbeat.interval.ms (ConsumerConfig); assumed"),
    "kafka.expiry_bursts.load_us": Tolerance(60_000_000, "the default session timeout, 45 s (KIP-735), and 15 s; assumed"),
    "kafka.lone_pauses.returned_us": Tolerance(4_000_000, "heartbeat.interval.ms, 3 s by default (ConsumerConfig); assumed beyond"),
    "kafka.facts.default_initial_delay_ms": Tolerance(3_000, "KafkaConfig"),
    "kafka.facts.default_offsets_retention_minutes": Tolerance(10_080, "KafkaConfig, KIP-186"),
    "kafka.facts.old_offsets_retention_minutes": Tolerance(1_440, "KafkaConfig before 2.0"),
    "kafka.trials.timer_late_us": Tolerance(1_000_000, "up to 463 ms in the labelled corpora; assumed beyond"),
    "kafka.search_limits.burst_gap_ms": Tolerance(2),
    "kafka.search_limits.fork_margin": Tolerance(2.0),
    "kafka.bounds.allowed_lateness_us": Tolerance(600_000_000),
    "kafka.offset_expiry.cleanup_seconds": Tolerance(600.0, "offsets.retention.check.interval.ms, 600 s by default (KafkaConfig)"),
    "kafka.offset_expiry.cleanup_us": Tolerance(2_000_000),
    "kafka.elimination.line_lag_us": Tolerance(500_000),
    "kafka.elimination.at_once_us": Tolerance(20_000),
    "kafka.elimination.trouble_us": Tolerance(60_000_000),
    "kafka.timeouts.moved_us": Tolerance(60_000_000, "assumed: a session of 45 s (KIP-735) and a takeover"),
    "kafka.epochs.noticed_us": Tolerance(
        10_000_000, "twice group.consumer.heartbeat.interval.ms, 5 s by default (KIP-848); the factor assumed"
    ),
    "kafka.epochs.stale_us": Tolerance(3_000_000),
    "kafka.hypothesis.initial_delay_overrun": Tolerance(0.03),
    "kafka.hypothesis.prompt_us": Tolerance(300_000),
    "kafka.hypothesis.look_back_us": Tolerance(2_000_000),
    "kafka.hypothesis.surest": Tolerance(0.994, "what was right in all, or all but two, of 800 cases and more (models/weights.py)"),
    "kafka.hypothesis.rival_min": Tolerance(0.01),
    "kafka.joins.followup_us": Tolerance(3_000_000),
    "kafka.ranking.sent_later_us": Tolerance(10_000, "assumed: a client's line is stamped just before its request is sent"),
    "kafka.ranking.expiry_lag_us": Tolerance(1_000_000),
    "kafka.timeouts.timeout_tolerance_us": Tolerance(250_000),
    "kafka.timeouts.last_moment_us": Tolerance(150_000),
    "kafka.timeouts.noticed_us": Tolerance(5_000_000),
    "kafka.timeouts.commit_rhythm_us": Tolerance(
        8_000_000, "auto.commit.interval.ms and heartbeat.interval.ms, 5 s and 3 s by default (ConsumerConfig)"
    ),
    "kafka.client_clocks.tolerance_us": Tolerance(60_000),
    "kafka.client_clocks.late_us": Tolerance(1_000_000),
    "kafka.client_clocks.far_us": Tolerance(300_000_000),
    "clocks.quarter_us": Tolerance(900_000_000, "zones of the tz database differ by whole quarters of an hour"),
    "clocks.zones_far_us": Tolerance(93_600_000_000, "from UTC-12:00 to UTC+14:00"),
    "kafka.client_clocks.zone_slack_us": Tolerance(3_000_000),
    "kafka.knowledge.due_tolerance_us": Tolerance(2_000_000),
    "kafka.reconciliation.slow_reconciliation_us": Tolerance(1_500_000),
    "kafka.roster.idle_us": Tolerance(86_400_000_000),
    "kafka.roster.lasting_us": Tolerance(2_592_000_000_000),
    "kafka.line_delays.clock_tolerance_us": Tolerance(60_000),
    "kafka.line_delays.straggler_us": Tolerance(2_000_000),
    "kafka.line_delays.effect_us": Tolerance(2_000_000),
    "kafka.line_delays.afterthought_us": Tolerance(250_000),
    "kafka.line_delays.stamp_us": Tolerance(2_000, "two stamps of whole milliseconds (log4j, %d)"),
    "kafka.departures.freed_us": Tolerance(500_000, "assumed: KafkaConsumer.close frees resources once its leave is answered"),
    "kafka.departures.close_timeout_us": Tolerance(30_000_000, "KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS"),
    "kafka.line_delays.heard_us": Tolerance(4_000_000, "heartbeat.interval.ms, 3 s by default (ConsumerConfig); assumed beyond"),
    "kafka.attribution.slack_us": Tolerance(60_000_000),
    "kafka.incidents.takeover_us": Tolerance(60_000_000),
    "kafka.incidents.clocks_us": Tolerance(2_000_000),
    "kafka.incidents.lasting_us": Tolerance(86_400_000_000),
    "kafka.incidents.brief_seconds": Tolerance(3.0),
    "kafka.leader_loss.taken_over_us": Tolerance(30_000_000),
    "kafka.outages.allowed_lateness_us": Tolerance(3_600_000_000),
    "kafka.stale_leaders.lasting_us": Tolerance(
        10_000_000, "two looks for slow followers, replica.lag.time.max.ms / 2 = 5 s each (ReplicaManager.scala before 2.5)"
    ),
    "kafka.quorum_elections.lasting_us": Tolerance(
        9_000_000, "broker.session.timeout.ms, within which brokers must reach a leader; an election takes one or two seconds"
    ),
    "kafka.quorum_elections.restless_count": Tolerance(3),
    "kafka.under_replication.lag_us": Tolerance(60_000_000, "replica.lag.time.max.ms is 10 s, since Kafka 2.5 30 s"),
    "kafka.broker_clocks.tolerance_us": Tolerance(1_000_000),
    "kafka.broker_clocks.late_us": Tolerance(5_000_000),
    "kafka.broker_clocks.told_together_us": Tolerance(2_000_000),
    "kafka.broker_clocks.far_us": Tolerance(3_600_000_000),
    "kafka.broker_clocks.moment_us": Tolerance(10_000_000),
    "kafka.broker_lines.listens_within_us": Tolerance(10_000_000),
    "kafka.brokers.same_departure_us": Tolerance(120_000_000),
    "kafka.controllers.late_us": Tolerance(5_000_000),
    "kafka.history.moment_us": Tolerance(1_000_000),
    "kafka.leadership_drain.within_us": Tolerance(15_000_000),
    "kafka.leadership_drain.fresh_us": Tolerance(600_000_000, "leader.imbalance.check.interval.seconds is 300"),
    "kafka.state.start_least_us": Tolerance(3_000_000),
    "kafka.slow_loads.slow_us": Tolerance(60_000_000, "incidents.stuck_seconds; max.block.ms and default.api.timeout.ms, 60 s by default"),
    "kafka.slow_loads.gap_seconds": Tolerance(120.0, "incidents.episode_gap_seconds"),
    "kafka.suspected_failures.late_us": Tolerance(180_000_000),
    "kafka.suspected_failures.early_us": Tolerance(10_000_000),
    "kafka.suspected_failures.tries_within_us": Tolerance(60_000_000),
    "kafka.suspected_failures.restart_within_us": Tolerance(21_600_000_000),
    "kafka.client_windows.hold_us": Tolerance(60_000_000),
    "kafka.client_windows.near_us": Tolerance(300_000_000),
    "kafka.client_windows.together_us": Tolerance(
        5_000_000, "all are answered at once (GroupCoordinator.onCompleteJoin); the rest assumed"
    ),
    "kafka.inferred_windows.worked_on_us": Tolerance(60_000_000, "as long as a window waits for slow members; assumed"),
    "kafka.member_signs.round_trip_us": Tolerance(500_000),
    "kafka.unlogged_epochs.hold_us": Tolerance(60_000_000),
    "kafka.unlogged_epochs.follows_us": Tolerance(
        10_000_000, "twice group.consumer.heartbeat.interval.ms, 5 s by default (KIP-848); the factor assumed"
    ),
    "kafka.member_signs.silent_us": Tolerance(
        5_000_000, "group.consumer.heartbeat.interval.ms, 5 s by default (KIP-848): living members are heard that often"
    ),
    "kafka.unlogged_epochs.alive_us": Tolerance(
        10_000_000, "twice group.consumer.heartbeat.interval.ms, 5 s by default (KIP-848); the factor assumed"
    ),
    "kafka.unlogged_epochs.alive_beats": Tolerance(2, "one heartbeat may be late: assumed"),
    "kafka.epoch_log.same_change_us": Tolerance(1_500_000),
    "kafka.epoch_log.same_request_us": Tolerance(50_000),
    "kafka.epoch_log.reaches_us": Tolerance(3_600_000_000),
    "kafka.epoch_log.subscribed_before_us": Tolerance(2_000_000),
    "kafka.epoch_log.closing_us": Tolerance(5_000_000),
    "kafka.request_members.assumed_session_us": Tolerance(
        45_000_000, "the longest default: session.timeout.ms since 3.0 (ConsumerConfig, KIP-735)"
    ),
    "kafka.request_windows.answer_us": Tolerance(20_000, "assumed: answers of the labelled corpora take 1 ms, those of a busy broker more"),
    "kafka.request_windows.hold_us": Tolerance(1_000_000),
    "kafka.request_windows.parked_us": Tolerance(100_000),
    "kafka.blockers.slow_rejoin_us": Tolerance(1_500_000),
    "kafka.blockers.unnamed_wait_us": Tolerance(
        4_000_000, "heartbeat.interval.ms, 3 s, and a rejoin within 1.3 s in all ordinary rebalances of the labelled corpora"
    ),
    "downtime.slow_assignment_seconds": Tolerance(
        5.0, "ten times what any leader of the labelled corpora takes; members wait for it as they do in a join phase that is slow"
    ),
    "kafka.missing_evidence.margin_us": Tolerance(2_000_000),
    "kafka.root_causes.takeover_us": Tolerance(10_000_000, "6 s zookeeper.session.timeout.ms, 9 s broker.session.timeout.ms"),
    "kafka.root_causes.return_us": Tolerance(300_000_000),
    "kafka.root_causes.cut_off_us": Tolerance(
        20_000_000, "twenty times reconnect.backoff.max.ms, 1 s by default (CommonClientConfigs); assumed"
    ),
    "kafka.root_causes.harmful_wait_us": Tolerance(5_000_000),
    "rocketmq.balance.skewed": Tolerance(1.5),
    "rocketmq.causes.look_back_us": Tolerance(4_000_000),
    "rocketmq.causes.first_us": Tolerance(10_000_000),
    "rocketmq.causes.late_route_us": Tolerance(3_000_000),
    "rocketmq.causes.started_us": Tolerance(3_000_000),
    "rocketmq.causes.slack_us": Tolerance(60_000),
    "rocketmq.client_faults.allocation_failed.apart_us": Tolerance(
        45_000_000, "two waits between rebalances, 20 s each (RebalanceService.java)"
    ),
    "rocketmq.client_faults.allocation_failed.least_us": Tolerance(20_000_000, "one wait between rebalances (RebalanceService.java)"),
    "rocketmq.client_faults.allocation_failed.least_lines": Tolerance(2),
    "rocketmq.client_faults.apart_us": Tolerance(60_000_000),
    "rocketmq.client_faults.broker_unreachable.apart_us": Tolerance(
        65_000_000, "two heartbeats, 30 s each (ClientConfig.java); the rest assumed"
    ),
    "rocketmq.client_faults.broker_unreachable.least_us": Tolerance(120_000_000, "channelExpiredTimeout (ConsumerManager.java)"),
    "rocketmq.client_faults.broker_unreachable.least_lines": Tolerance(2),
    "rocketmq.client_faults.consume_timeout_exceeded.apart_us": Tolerance(
        1_000_000_000, "consumeTimeout, 15 minutes, between two looks (ConsumeMessageConcurrentlyService.java); the rest assumed"
    ),
    "rocketmq.client_faults.listener_failed.apart_us": Tolerance(
        600_000_000, "the eighth delay of a message that failed is 6 minutes (MessageStoreConfig.java); the rest assumed"
    ),
    "rocketmq.client_faults.listener_failed.least_lines": Tolerance(3),
    "rocketmq.client_faults.listener_slow.apart_us": Tolerance(
        110_000_000, "a line for each 1,000 waits of 50 ms, twice (DefaultMQPushConsumerImpl.java); the rest assumed"
    ),
    "rocketmq.client_faults.listener_slow.least_us": Tolerance(30_000_000),
    "rocketmq.client_faults.listener_slow.least_lines": Tolerance(2),
    "rocketmq.client_faults.lock_missing.apart_us": Tolerance(45_000_000, "two askings for locks, 20 s each (RebalanceImpl.java)"),
    "rocketmq.client_faults.lock_missing.least_us": Tolerance(30_000_000, "lockMaxLiveTime, 30 s (ProcessQueue.java)"),
    "rocketmq.client_faults.lock_missing.least_lines": Tolerance(2),
    "rocketmq.client_faults.name_server_unreachable.apart_us": Tolerance(
        65_000_000, "two askings for routes, 30 s each (ClientConfig.java)"
    ),
    "rocketmq.client_faults.name_server_unreachable.least_us": Tolerance(30_000_000, "one asking for routes (ClientConfig.java)"),
    "rocketmq.client_faults.name_server_unreachable.least_lines": Tolerance(2),
    "rocketmq.client_faults.offset_not_kept.least_lines": Tolerance(2),
    "rocketmq.client_faults.reading_failed.apart_us": Tolerance(65_000_000),
    "rocketmq.client_faults.reading_failed.least_us": Tolerance(30_000_000),
    "rocketmq.client_faults.reading_failed.least_lines": Tolerance(2),
    "rocketmq.client_faults.route_missing.apart_us": Tolerance(65_000_000, "two askings for routes, 30 s each (ClientConfig.java)"),
    "rocketmq.client_faults.route_missing.least_us": Tolerance(30_000_000, "one asking for routes (ClientConfig.java)"),
    "rocketmq.client_faults.route_missing.least_lines": Tolerance(2),
    "rocketmq.episodes.quiet_us": Tolerance(2_000_000),
    "rocketmq.episodes.commit_us": Tolerance(5_000_000),
    "rocketmq.incidents.guessed": Tolerance(0.5),
    "rocketmq.ownership.brief_us": Tolerance(1_500_000),
    "rocketmq.ownership.start_us": Tolerance(1_000_000),
    "rocketmq.popping.contended_lines": Tolerance(2, "a lite topic goes from one client to another and on: assumed"),
    "rocketmq.popping.heartbeat_us": Tolerance(10_000_000, "ClientManagerImpl.java"),
    "rocketmq.popping.stall_us": Tolerance(30_000_000),
    "rocketmq.set_masters.detection_us": Tolerance(
        30_000_000, "scanNotActiveBrokerInterval 5 s, heartbeat timeout 10 s (ControllerConfig.java); the rest assumed"
    ),
    "rocketmq.server_incidents.together_us": Tolerance(5_000_000, "one loss is one pass over the tables (RouteInfoManager.java); assumed"),
    "rocketmq.standing_faults.set_back_us": Tolerance(30_000_000, "heartbeatBrokerInterval (ClientConfig.java)"),
    "rocketmq.standing_faults.together_us": Tolerance(5_000_000),
    "rocketmq.unlogged_clients.reaction_us": Tolerance(300_000),
    "rocketmq.unlogged_clients.first_run_us": Tolerance(800_000),
    "rocketmq.unlogged_clients.start_us": Tolerance(5_000_000),
    "rocketmq.unlogged_clients.forgotten_us": Tolerance(5_000_000),
    "rocketmq.unlogged_clients.reconnect_us": Tolerance(35_000_000, "heartbeatBrokerInterval, 30 s (ClientConfig.java); the rest assumed"),
    "rocketmq.unlogged_clients.frozen_us": Tolerance(
        110_000_000, "channelExpiredTimeout, 120 s, scanned every 10 s (ClientHousekeepingService.java), less half a heartbeat"
    ),
    "rocketmq.unlogged_clients.lock_us": Tolerance(60_000_000),
    "rocketmq.unlogged_clients.reset_us": Tolerance(10_100_000),
    "rocketmq.allocation_runs.by_queue_us": Tolerance(
        1_000_000, "one loop takes all queues of an assignment (PushConsumerImpl.cpp, syncProcessQueue); the time assumed"
    ),
    "rocketmq.allocation_runs.not_listed_us": Tolerance(5_000_000),
    "rocketmq.allocation_runs.run_max_us": Tolerance(150_000_000),
    "rocketmq.client_processes.near_us": Tolerance(120_000_000),
    "rocketmq.client_processes.last_lines_us": Tolerance(2_000_000, "assumed: a process writes its last lines as it loses its connection"),
    "rocketmq.client_processes.leaver_us": Tolerance(200_000, "median of the labelled RocketMQ corpora"),
    "rocketmq.pop_trouble.apart_us": Tolerance(120_000_000, "ProcessQueueImpl.java"),
    "rocketmq.subscription_versions.after_us": Tolerance(50_000),
    "rocketmq.subscription_versions.subscribed_us": Tolerance(5_000_000),
    "rocketmq.subscription_versions.together_us": Tolerance(1_500_000),
    "rocketmq.subscriptions.heartbeat_us": Tolerance(1_500_000, "stamps of whole seconds; the rest assumed"),
    "rocketmq.stage.logged_after_us": Tolerance(2_000_000, "stamps of whole seconds; the rest assumed"),
    "rocketmq.stage.line_of_loss_us": Tolerance(1_300_000, "stamps of whole seconds; the rest assumed"),
    "rocketmq.stage.boot_us": Tolerance(8_000_000),
    "rocketmq.topic_routes.one_poll_us": Tolerance(4_000_000),
    "rocketmq.timing.expiry_us": Tolerance(120_000_000, "ConsumerManager.java, CHANNEL_EXPIRED_TIMEOUT"),
    "rocketmq.timing.period_us": Tolerance(20_000_000, "RebalanceService.java, rocketmq.client.rebalance.waitInterval"),
    "rocketmq.timing.route_poll_us": Tolerance(30_000_000, "ClientConfig.java, pollNameServerInterval"),
    "rocketmq.timing.list_slack_us": Tolerance(2_000_000),
    "rocketmq.timing.notified_us": Tolerance(1_300_000),
    "rocketmq.timing.consumer_start_us": Tolerance(10_000_000, "PushConsumerImpl.java, startUp"),
    "rocketmq.timing.assignment_us": Tolerance(
        90_000_000, "ProxyConfig.java, topicRouteServiceCacheRefreshSeconds; a client asks every 5 s"
    ),
    "rocketmq.timing.assigned_apart_us": Tolerance(27_000_000, "ProxyConfig.java"),
    "whatif.advice.most_session_ms": Tolerance(300_000),
    "whatif.advice.most_consumer_session_ms": Tolerance(60_000, "group.consumer.max.session.timeout.ms, KIP-848"),
    "whatif.advice.long_wait_ms": Tolerance(20_000),
    "whatif.advice.least_seconds": Tolerance(0.05),
    "whatif.advice.shorter_session_ms": Tolerance(10_000, "default of session.timeout.ms before 3.0, KIP-735"),
    "whatif.advice.gathering_ms": Tolerance(10_000),
    "whatif.advice.worth_share": Tolerance(0.05),
    "whatif.advice.nearly": Tolerance(0.9),
    "whatif.advice.known_share": Tolerance(0.6),
    "whatif.advice.rebalance_seconds": Tolerance(1.0),
    "whatif.heartbeats.late_ms": Tolerance(60, "recordings show 2 to 50 ms"),
    "whatif.heartbeats.session_share": Tolerance(
        3, "heartbeat.interval.ms: no higher than a third of the session timeout (ConsumerConfig)"
    ),
    "whatif.members.forever_ms": Tolerance(1_000_000_000_000),
    "whatif.parts.overlap_acts": Tolerance(
        200, "at 33 cuts of 5,113 simulated rebalances, run five ways, parts were at rest together after 16 at most"
    ),
    "whatif.plans.one_roll_ms": Tolerance(600_000),
    "whatif.reading.start_ms": Tolerance(20),
    "whatif.reading.contact_ms": Tolerance(50),
    "whatif.contacts.commit_ms": Tolerance(5_000, "auto.commit.interval.ms (ConsumerConfig)"),
    "whatif.reading.warm_up_ms": Tolerance(30_000),
    "whatif.comparison.scheduled_ms": Tolerance(300_000, "default of scheduled.rebalance.max.delay.ms (KIP-415)"),
    "whatif.comparison.unchanged_ms": Tolerance(500),
    "whatif.doubt.shift_ms": Tolerance(250, "recordings of one timetable differ by 0.1 to 1 s from run to run"),
    "whatif.heartbeat_phases.chance_max": Tolerance(0.05, "the usual level of a test"),
    "whatif.heartbeat_phases.late_ms": Tolerance(60),
    "whatif.outlook.long_miss_ms": Tolerance(20_000),
    "whatif.outlook.heard_share": Tolerance(0.75, "600 simulated twins: .998 of the ranges hold within 0.5 s (tests.models.whatif.twins)"),
    "whatif.outlook.near_seconds": Tolerance(0.5, "what two readings of one downtime may differ by in tests of what-if"),
    "whatif.outlook.near_share": Tolerance(0.1, "the same, as a share of it"),
    "whatif.outlook.clearly_more": Tolerance(1.5, "4 more downtimes of 960 simulated twins are near by it, as by any factor from 1.25 on"),
    "whatif.outlook.spared_share": Tolerance(8),
    "whatif.rules.default_max_poll_ms": Tolerance(300_000, "KIP-62"),
    "whatif.rules.default_heartbeat_ms": Tolerance(3_000, "heartbeat.interval.ms (ConsumerConfig)"),
    "whatif.rules.default_initial_delay_ms": Tolerance(3_000, "KIP-134"),
    "whatif.rules.modern_session_ms": Tolerance(45_000, "KIP-848"),
    "whatif.rules.modern_heartbeat_ms": Tolerance(5_000, "KIP-848"),
    "whatif.alignment.near_ms": Tolerance(2_500),
    "whatif.run.poll_ms": Tolerance(20),
    "whatif.run.quiet_ms": Tolerance(100),
    "whatif.run.long_ms": Tolerance(3_600_000),
    "whatif.run.look_ms": Tolerance(100),
    "whatif.run.expiry_late_ms": Tolerance(1, "tickMs of the brokers' timers (SystemTimer)"),
    "whatif.settings.moment_seconds": Tolerance(0.5),
}


def int_tolerance(name: str) -> int:
    """The value of a tolerance that is a whole number."""
    return int(TOLERANCES[name].value)


def float_tolerance(name: str) -> float:
    """The value of a tolerance that need not be a whole number."""
    return TOLERANCES[name].value


# -- timeouts that no line tells ------------------------------------------------------------------------------

DEFAULT_SESSION_TIMEOUTS_MS = (10_000, 45_000)
"""Defaults of session.timeout.ms.

10 s in 0.10.1 to 2.8, 45 s since 3.0 (ConsumerConfig, KIP-735).
"""

DEFAULT_SESSION_MS = DEFAULT_SESSION_TIMEOUTS_MS[-1]
"""Session timeout of members whose lines and library tell none."""

USUAL_SESSION_TIMEOUTS_MS = (6_000, 10_000, 30_000, 45_000)
"""Minimum session timeout and defaults of clients.

The minimum is group.min.session.timeout.ms. Defaults: 30 s in 0.10, 10 s to 2.8, 45 s since 3.0 (KIP-735).
"""

GROUP_MIN_SESSION_US = 6 * US_PER_SECOND
"""group.min.session.timeout.ms (KafkaConfig).

No member expires sooner after its last heartbeat.
"""

USUAL_REBALANCE_TIMEOUTS_MS = (300_000, 60_000, 120_000, 180_000, 600_000, 900_000, 1_200_000, 1_800_000, 3_600_000)
"""Usual rebalance timeouts, the commonest first.

max.poll.interval.ms: 300 s by default (ConsumerConfig, KIP-62); rebalance.timeout.ms of Connect: 60 s; round ones that people set:
assumed.
"""

PHASE_OVERRUN_US = 50 * US_PER_MS
"""Longest overrun of a join phase that ends by its timeout.

2 to 5 ms in the corpora, more on a busy broker (assumed).
"""

PHASE_UNDERRUN_US = 2 * US_PER_MS
"""... and not before, but for the rounding of two stamps."""

WHOLE_SECONDS_MIN_US = 5 * US_PER_SECOND
"""Shortest join phase whose whole seconds mean its timeout.

By chance one in twenty has them. Longer than the initial delay of 3 s (KafkaConfig) and than a heartbeat interval, after which members
hear of a rebalance.
"""

ECHO_SLACK_US = 500 * US_PER_MS
"""How much short of one session a removed member's expiry may be.

After the join phase; assumed.
"""

POLL_SLACK_US = 3 * US_PER_SECOND
"""Longest time from the poll interval's end to the leave.

A heartbeat thread looks with each heartbeat, 3 s by default.
"""

POLL_SLACK_SHARE = 0.05
"""The same as a share of the interval, where that is shorter: assumed.

The thread looks every retry.backoff.ms, 100 ms by default (AbstractCoordinator.HeartbeatThread), and counts from the last poll.
"""

PROBING_US = 600 * US_PER_SECOND
"""probing.rebalance.interval.ms (StreamsConfig, KIP-441).

Tasks that warm up are looked at this long after an assignment.
"""

TOGETHER_MIN = 3
"""Minimum number of members that fail together (assumed).

None of them is to blame then. Two that share a host may lose and find their network together.
"""

CONNECT_DELAY_US = 300 * US_PER_SECOND
"""scheduled.rebalance.max.delay.ms (DistributedConfig, KIP-415).

Tasks of a worker that left are given away this long after.
"""

STORE_TIMEOUT_US = 5 * US_PER_SECOND
"""offsets.commit.timeout.ms (KafkaConfig).

A write of the assignment is given up this long after it came.
"""

STORE_SLACK_US = 400 * US_PER_MS
"""Longest time from a write given up to the next rebalance.

Up to 0.3 s in the corpora.
"""

RHYTHM_MIN = 2
"""So often must it come to be a rhythm: assumed."""
