"""The derived index: SQLite as a container, terms, and the head read without dulwich."""
