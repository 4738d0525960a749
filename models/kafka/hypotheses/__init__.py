"""hypotheses."""
