"""The git side: objects, chain, append, acknowledged head, verification, repair, space."""
