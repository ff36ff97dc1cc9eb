"""The library's door: `Memory` joins ledger, index and views."""

from hikmah.memory.door import Memory

__all__ = ["Memory"]
