"""What holds for every test: whose settings count, and how long hypothesis may take."""

from __future__ import annotations

import os
import re

from hypothesis import HealthCheck, settings

# Whoever runs the tests may do so inside an agent's session, from a git hook, or with settings
# of their own: none of it may reach a test. What tells the tests how much to do is kept.
_SURROUNDING = re.compile(
    r"(?:GIT|HIKMAH|CLAUDE_CODE|CODEX|CURSOR|GEMINI|COPILOT)_\w+|CLAUDECODE|GEMINI_CLI|OPENCODE"
    r"|AI_AGENT|AGENT|NO_COLOR"
)
_KEPT = re.compile(r"HIKMAH_(?:TEST|BENCH|UPDATE)_\w+")
for _name in tuple(os.environ):
    if _SURROUNDING.fullmatch(_name) and not _KEPT.fullmatch(_name):
        del os.environ[_name]

# Times on a shared machine say nothing; benchmarks measure. In CI examples are the same
# each time, by hypothesis's own profile for it.
_parent = settings.get_profile("ci" if os.environ.get("CI") else "default")
settings.register_profile(
    "hikmah", parent=_parent, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("hikmah")
