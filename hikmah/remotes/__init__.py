"""Remotes: how a ledger travels between repositories, and what is believed then."""
