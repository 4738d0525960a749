"""elections."""
