"""Pure functions over index rows: recall, claims, commitments, listings."""
