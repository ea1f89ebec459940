#!/usr/bin/env bash
# Property tests with a seed drawn anew and more examples. What they find is written beside the tests, to be committed.
# Then what a release consists of is made, and proven as far as this machine can. NIGHTLY="properties" or "release" does one.
set -uo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
processes=${PYTEST_PROCESSES:-2}
failed=()
kept=(tests/found ':(glob)**/*.proptest-regressions' ':(glob)**/proptest-regressions/**')

try() {
    local name=$1
    shift
    echo "==> $name, seed $seed"
    "$@" || failed+=("$name")
}

rust() { (cd collector-agent && PROPTEST_RNG_SEED=$seed PROPTEST_CASES=${CASES:-1280} cargo test --workspace --locked --no-fail-fast); }
python() { .venv/bin/python -m pytest -n "$processes" --hypothesis-seed="$seed" --hypothesis-profile=nightly --elsewhere "$@"; }

properties() {
    try "Rust" rust
    try "Python" python -m hypothesis
    try "Rates" env TIERSCOPE_DRAWS=all .venv/bin/python -m pytest -n "$processes" -m rates --elsewhere tests/domain lab
    try "API" env TIERSCOPE_FUZZ_EXAMPLES="${EXAMPLES:-100}" .venv/bin/python -m pytest -n "$processes" \
        --hypothesis-seed="$seed" --hypothesis-profile=nightly tests/api/test_properties.py
    try "Engines" .venv/bin/python -m pytest --elsewhere -k four_engines tests/usecases/test_history.py
    try "Notebooks" .venv/bin/python -m pytest --elsewhere -k empty_environment tests/docs/test_commands.py
}

# Bounded: a proof that hangs is one that failed.
release() {
    try "Files of a release" timeout 2h deploy/dist/dist.sh
    try "Service of the version before" timeout 1h deploy/dist/before.sh
    try "Proofs" timeout 3h env PYTHONPATH=lab:tests .venv/bin/python -m proofs
}

for part in ${NIGHTLY:-properties release}; do
    "$part"
done

found=$(git status --porcelain --untracked-files=all -- "${kept[@]}")
echo "==> nightly: seed $seed; the same again: make nightly SEED=$seed"
if [ -n "$found" ]; then
    printf 'found cases, to be committed:\n%s\n' "$found"
else
    echo "no case was found"
fi
if [ ${#failed[@]} -gt 0 ]; then
    echo "nightly failed: ${failed[*]}"
    exit 1
fi
