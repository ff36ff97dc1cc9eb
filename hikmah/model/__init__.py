"""The words: records, validation, screens, sessions, policy, deadlines. Pure; msgspec only."""
