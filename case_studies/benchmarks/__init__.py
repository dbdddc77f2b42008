"""Benchmarks of archeng itself: repair, overhead. Each is a command that prints its figures."""
