"""Jobs: read, transform, check, write. `run` is the whole of it."""
