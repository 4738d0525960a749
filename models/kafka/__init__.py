"""Kafka's group coordinators and controllers, replayed from their logs.

From the bottom: `coordinator` is the reference coordinator, `elections` the controller's election of leaders, and
`cluster` holds the facts shared by all groups of a cluster. `observations` reads members' actions from lines,
`reconstruction` cuts a group's history into rebalances, `hypotheses` proposes and ranks their causes, `verdicts` writes
rows, and `groups` drives all of these. `conformance` explains a log by hidden requests to the reference coordinator.
`partitions` and `outages` replay partitions without a leader. `simulation` runs clients and brokers forward.

The rules of a replay:

1. Only lines are known. The coordinator's line shows what it did, a request's line when the request arrived, and a
   client's line what the client saw, on its own clock. Everything else is inferred and marked as such.
2. The events of a group arrive in the order of time, file and position. They are the only clock: time advances to the
   next event, and whatever is due by then happens first.
3. Lines about the same generation show the difference between a client's clock and the coordinator's. A proven
   difference is subtracted, so that all actions are on the coordinator's clock.
4. The coordinator's lines set the state of the group. If one contradicts the model, the difference becomes a divergence
   with the line as evidence, and the model follows the log. Nothing that a log may hold raises an exception.
5. A rebalance is a window. A classic one opens when the group enters PreparingRebalance, one of the newer protocols when
   the epoch is raised. It closes with an outcome, or stays open until the end of the logs.
6. A closed window waits for late lines. Its causes are ranked when the history extends far enough beyond it, using the
   rebalances before and after, the members' actions, and the facts of the cluster.
7. Three questions are separate: who started the rebalance (cause, offenders), who made the others wait (blockers), and
   what was behind it (root cause).
8. If a line names the trigger, it decides. If none does, hypotheses that contradict any line are excluded, and the rest
   share the confidence by their usual frequency. What would decide between them is named.
9. Rebalances close to each other form an episode. When it is over, its rows are final: they leave the stage with the
   time from which no later event could change them (`final_at`).
10. Everything in memory has a limit. Beyond it the oldest windows are ranked early, with what is known by then.
11. A stage can be stored as a checkpoint between two events and resumed later. The rows are the same as without it.
"""
