#!/usr/bin/env bash
# All tests but the long ones, which `make test-long` runs. Every suite runs, even after another has failed; the end says which failed and how long each took.
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=.build/logs
mkdir -p "$logs"
rm -rf "$logs"/{rust,web,python,agent,long}.log "$logs"/web.{json,shown} "$logs"/{python,long}.jsonl "$logs"/{servers,alone,suites}
failed=()

suite() {
    local name=$1 from=$SECONDS outcome=passed
    shift
    "$@" || { outcome=FAILED; failed+=("$name"); }
    echo "$name $outcome $((SECONDS - from))" >>"$logs/suites"
    [ $outcome = passed ]
}

# Linking the agent keeps one core busy while the Rust tests compile and run.
set -m
make agent >"$logs/agent.log" 2>&1 </dev/null &
agent=$!
# Test processes would each compile the same tests; beside Rust's linking, one does it for all of them.
collection=$agent
if [ -z "$(find tests lab -name '*-pytest-*.pyc' -print -quit)" ]; then
    PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest --collect-only -qq >/dev/null 2>&1 </dev/null &
    collection=$!
fi
# The dashboard's tests take the cores that the others leave: those run one program at a time, or wait for servers.
suite web make test-web >"$logs/web.shown" 2>&1 </dev/null &
web=$!
set +m
trap 'kill -- "-$agent" "-$collection" "-$web" 2>/dev/null || true' EXIT
agent_is_built() {
    wait "$agent" || { cat "$logs/agent.log"; return 1; }
}

suite rust make test-rust
suite agent agent_is_built
suite python make test-python
wait "$web" || failed+=("web")
cat "$logs/web.shown"
echo "all took $SECONDS" >>"$logs/suites"
.venv/bin/python lab/workshop/floors.py "$logs" || failed+=("floors")

if [ ${#failed[@]} -gt 0 ]; then
    echo "test failed: ${failed[*]}"
    exit 1
fi
