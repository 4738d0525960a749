"""Rows in, pictures and pages out. Knows neither files nor Spark."""
