"""A deterministic memory and reliability kernel for AI agents, kept in git.

`hikmah.memory.Memory` is the library's door; `hikmah.model` holds the words it speaks,
`hikmah.ledger` the git format, `hikmah.index` the derived index, `hikmah.views` the pure
rules that answer questions, and `hikmah.cli` the command. Importing this package imports
none of them, so that start-up costs only what is used.
"""

__version__ = "0.1.0"
