#!/bin/sh
# The Truth Gate for hosts that run a shell command at a stop event. Tries this checkout with
# the first Python that works, then `hikmah` on PATH, then allows. Installs nothing, and
# always exits 0. With no program at all on PATH the shell's own words still answer.
here=${0%/*}
[ "$here" = "$0" ] && here=.
gate=$here/truth_gate.py
if [ -r "$gate" ]; then
    for python in python3 python; do
        # A stub that only names a store answers nothing here.
        if [ "$("$python" -c 'print(1)' 2>/dev/null)" = 1 ]; then
            "$python" "$gate" "$@"
            exit 0
        fi
    done
fi
if command -v hikmah >/dev/null 2>&1; then
    hikmah hook "$@"
    exit 0
fi
echo '{}'
exit 0
