"""Benchmarks in small: that they measure what they say."""
