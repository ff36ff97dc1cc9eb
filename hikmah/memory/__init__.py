"""The library's door: `Memory` joins ledger, index and views."""

from hikmah.memory.memory import Memory

__all__ = ["Memory"]
