"""The derived index: SQLite as a container, terms, postings."""
