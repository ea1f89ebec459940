#!/usr/bin/env bash
# `make up` and `make demo`: makes what is missing or has changed, side by side, then runs `tierscope up`.
set -euo pipefail
cd "$(dirname "$0")/../.."
log=.build/compile.log

compiling=
stop_compiling() {
    # cargo's whole process group: its compilers would go on without it. What is finished is kept and not done again.
    [ -z "$compiling" ] || kill -- "-$compiling" 2>/dev/null || true
}

if ! make --question service 2>/dev/null; then
    echo "Setting up, side by side: Python packages, the dashboard, and the compiled agent and simulator core ($log)."
fi
mkdir -p .build
set -m
deploy/dev/compile.sh --no-install >"$log" 2>&1 </dev/null &
compiling=$!
set +m
trap stop_compiling EXIT
make --jobs=2 service
wait "$compiling" && deploy/dev/compile.sh 2>>"$log" || printf 'The agent and the simulator core are missing. %s ends with:\n%s\n' "$log" "$(tail -n 5 "$log")"
trap - EXIT
exec .venv/bin/tierscope up "$@"
