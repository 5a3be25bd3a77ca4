"""Randomisation and differential privacy as mathematics: exact noise, local reports, batches, streams, accounting."""
