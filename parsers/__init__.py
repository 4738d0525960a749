"""Bytes of log files in, typed events out. Knows neither Spark (but for `datasource`) nor the models."""
