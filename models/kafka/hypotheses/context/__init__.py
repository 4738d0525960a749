"""What is known of one rebalance when its cause is judged, by subject.

`rebalance_context` has the window with these parts, each built upon those before it: `join_phase` (its time, and the
actions in it), `generation_members` (before and after it), `arrived_members`, `departed_members`, `timeouts_in_force` and
`phase_deadline` (whether a timeout ended the phase), `assignment_lags` and `assignment_write` (when the last assignment was,
and whether it was stored). `stated_reasons` reads what the coordinator's own line says. A rule takes the parts that it needs.
Imports `reconstruction`, `observations`, `cluster` and the coordinator's states.
"""
