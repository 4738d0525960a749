"""The reference coordinator of classic groups: Kafka's own rules by version, on a virtual clock."""
