"""The git side: objects, chain, append, head, verification, repair, space."""
