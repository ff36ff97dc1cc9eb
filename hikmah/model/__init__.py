"""The words: records, validation, screens, sessions, policy, times. Pure."""
