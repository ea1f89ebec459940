#!/usr/bin/env bash
# All static checks. Every one runs, even after another has failed; the end says which failed.
# Those of one language run one after another, the languages side by side; each is shown whole when it ends.
set -uo pipefail
cd "$(dirname "$0")/../.."
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

run() {
    local name=$1 from=$SECONDS output outcome=passed
    shift
    output=$("$@" 2>&1) || outcome=FAILED
    (
        flock 9
        echo "== $name: $outcome in $((SECONDS - from)) s"
        [ -z "$output" ] || printf '%s\n' "$output"
        [ $outcome = passed ] || echo "$name" >>"$failures"
    ) 9<"$failures"
}

python_paths=(backend tests lab contract migrations conftest.py)
rust() { (cd "${CARGO_DIR:-collector-agent}" && "$@"); }
web() { (cd frontend && "$@"); }

# bash takes all names but the first for arguments of that script.
shell_syntax() {
    local script
    for script in "$@"; do
        bash -n "$script" || return 1
    done
}

generated_files_are_current() {
    local paths=(contract docs/metrics.md docs/quantities.md ':(glob)**/_generated/**') before after
    before=$(git status --porcelain -- "${paths[@]}"; git diff -- "${paths[@]}" | sha256sum)
    make gen >/dev/null || return 1
    after=$(git status --porcelain -- "${paths[@]}"; git diff -- "${paths[@]}" | sha256sum)
    if [ "$before" != "$after" ]; then
        git --no-pager diff --stat -- "${paths[@]}"
        echo "Generated files differ from the contract: run 'make gen' and commit them."
        return 1
    fi
}

python_checks() {
    run "ruff check" .venv/bin/ruff check --quiet "${python_paths[@]}"
    run "ruff format" .venv/bin/ruff format --check --quiet "${python_paths[@]}"
    run "import layers" .venv/bin/lint-imports --no-cache
    run "sizes and names" .venv/bin/python -m pytest -q tests/architecture/test_{clocks,dashboard,districts,layers,names,rust_loops,sizes}.py
    run "lines by district" env PYTHONPATH=tests .venv/bin/python -m architecture.budget
    run "mypy" .venv/bin/mypy
}

rust_checks() {
    run "rustfmt" rust cargo fmt --all --check
    run "clippy" rust cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
}

web_checks() {
    run "tsc" web npm run --silent typecheck
    run "eslint" web npm run --silent lint
}

deploy/dev/check-tools.sh python node rust || exit 1
run "shell syntax" shell_syntax .ci/run .ci/*.sh deploy/dev/*.sh deploy/dist/*.sh
python_checks &
rust_checks &
web_checks &
wait
# It writes the files that the others read.
run "generated files" generated_files_are_current

if [ -s "$failures" ]; then
    echo "lint failed: $(paste -sd, "$failures")"
    exit 1
fi
echo "lint: all checks passed"
