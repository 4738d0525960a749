"""Reference model of the coordinator: Kafka's rules by version, with virtual time.

Takes requests and elapsed time; returns responses, fired timers, state transitions and events that a broker would log.
Tested against recordings of real coordinators. Knows neither logs nor verdicts and imports nothing outside this
package. Start with `group_coordinator`, the interface of the classic and the consumer protocol, then
`classic.coordinator`; share and streams groups have coordinators of their own, `share` and `streams`.
"""
