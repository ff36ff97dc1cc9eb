"""Hosts: what each needs to load the skills and run the gate, and how that is checked."""
