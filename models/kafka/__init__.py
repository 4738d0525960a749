"""Kafka's group coordinators, replayed from what they announced."""
