"""The reference coordinator: Kafka's own rules by version, on a virtual clock.

Requests and timers in; responses, changes of state and announcements out. Equal to recordings of real coordinators. Knows neither logs
nor verdicts, and imports nothing but itself. Start with `group_coordinator`, which both protocols share, then `classic.coordinator`.
"""
