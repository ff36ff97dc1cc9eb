"""Reasoning that does not live in a model: pure functions over plain data."""
