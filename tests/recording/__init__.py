"""What drives released coordinators of share and streams groups and records them, for `tests.conformance`."""
