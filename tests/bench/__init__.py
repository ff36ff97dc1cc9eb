"""Benchmarks: run by hand, never among the tests (docs/evaluation.md)."""
