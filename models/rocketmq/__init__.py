"""RocketMQ consumer groups: there is no coordinator, each client works out its own share from what it sees."""
