"""How fast it is, next to what else one could use, in the same run: `python -m benchmarks [NAME...]` prints tables."""
