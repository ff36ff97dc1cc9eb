"""Hosts: what each needs to load the skills and to run the gate."""
