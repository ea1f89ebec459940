#!/usr/bin/env bash
# All static checks. Every one runs, even after another has failed; the end says which failed.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=()

run() {
    local name=$1
    shift
    echo "== $name"
    "$@" || failed+=("$name")
}

rust() { (cd collector-agent && "$@"); }
web() { (cd frontend && "$@"); }

generated_files_are_current() {
    local paths=(contract docs/metrics.md ':(glob)**/_generated/**') before after
    before=$(git status --porcelain -- "${paths[@]}"; git diff -- "${paths[@]}" | sha256sum)
    make gen >/dev/null || return 1
    after=$(git status --porcelain -- "${paths[@]}"; git diff -- "${paths[@]}" | sha256sum)
    if [ "$before" != "$after" ]; then
        git --no-pager diff --stat -- "${paths[@]}"
        echo "Generated files differ from the contract: run 'make gen' and commit them."
        return 1
    fi
}

deploy/dev/check-tools.sh python node rust || exit 1
run "ruff check" .venv/bin/ruff check --quiet backend tests contract migrations
run "ruff format" .venv/bin/ruff format --check --quiet backend tests contract migrations
run "mypy" .venv/bin/mypy
run "import layers" .venv/bin/lint-imports --no-cache
run "sizes and names" .venv/bin/python -m pytest -q tests/architecture
run "shell syntax" bash -n .ci/run deploy/dev/*.sh
run "rustfmt" rust cargo fmt --all --check
run "clippy" rust cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
run "eslint" web npm run --silent lint
run "tsc" web npm run --silent typecheck
run "generated files" generated_files_are_current

if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint failed: %s\n' "$(IFS=,; echo "${failed[*]}")"
    exit 1
fi
echo "lint: all checks passed"
