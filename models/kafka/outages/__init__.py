"""outages."""
