#!/usr/bin/env bash
# `make up` and `make demo`: installs what is missing, with the agent compiling beside it, then runs `tierscope up`.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=
stop_build() {
    # cargo's whole process group: its compilers would go on without it. What is finished is kept and not done again.
    [ -z "$build" ] || kill -- "-$build" 2>/dev/null || true
    [ -z "$build" ] || wait "$build" 2>/dev/null || true
    build=
}

if ! make --question service 2>/dev/null; then
    echo "Setting up: Python packages and the dashboard; the agent compiles beside them."
    if deploy/dev/check-tools.sh rust; then
        mkdir -p .build
        set -m
        nice deploy/dev/build-agent.sh >.build/agent-early.log 2>&1 </dev/null &
        build=$!
        set +m
        trap stop_build EXIT
    fi
    make service
    stop_build
    trap - EXIT
fi
exec .venv/bin/tierscope up "$@"
