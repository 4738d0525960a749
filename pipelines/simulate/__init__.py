"""Made-up clusters as files: the model's simulator runs a scenario, and the catalogue's words make logs of it."""
