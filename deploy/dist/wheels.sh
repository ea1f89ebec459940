#!/usr/bin/env bash
# Makes the wheels: tierscope with dashboard and migrations, its client, and its compiled parts for this machine.
# Compiled ones are linked by zig against glibc 2.17, so that they run on every distribution since 2014.
# wheels.sh [CRATE...]: the crates to compile beside, all without a word.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
deploy/dev/check-tools.sh python rust
[ -x "$(command -v cargo)" ] || export PATH="$HOME/.cargo/bin:$PATH"
for built in frontend/dist docs/_site; do
    [ -f "$built/index.html" ] || die "$built is not built" "make service"
done
need_build_tools
wheels=$OUT/wheels
rm -rf "$wheels"

# Panics name source files: those of the checkout and of crates, wherever they lie on the machine that builds.
separator=$(printf '\037')
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${REMAPPED:-$PWD}=tierscope${separator}--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates"
export PYO3_PYTHON=$PWD/.venv/bin/python
[ $# -gt 0 ] || set -- collector-agent/crates/agent collector-agent/crates/fleet backend/simcore
for crate in "$@"; do
    .venv/bin/maturin build --quiet --locked --release --zig --compatibility manylinux2014 \
        --target "$MACHINE-unknown-linux-gnu" --manifest-path "$crate/Cargo.toml" \
        --interpreter "$PYO3_PYTHON" --out "$wheels"
done

for project in . backend/tierscope_client; do
    (cd "$project" && "$TOOLS/bin/python" -m hatchling build --target wheel --directory "$wheels" >/dev/null)
done
for wheel in "$wheels"/*.whl; do
    echo "${wheel#"$PWD/"} $(stat --format %s "$wheel")"
done
