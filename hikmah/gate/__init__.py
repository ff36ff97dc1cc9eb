"""The Truth Gate: a message that claims completion over open work is held."""
