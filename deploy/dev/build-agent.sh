#!/usr/bin/env bash
# Compiles the agent for other hosts, as a release has it: small, and static against musl where that target and its C
# compiler are installed. What runs in this checkout is made by compile.sh, in a third of the time.
# build-agent.sh --print-path says where the program is then, and does not compile.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x "$(command -v cargo)" ] || export PATH="$HOME/.cargo/bin:$PATH"

target=()
musl="$(uname -m)-unknown-linux-musl"
if command -v musl-gcc >/dev/null && command -v rustc >/dev/null &&
    [ -d "$(rustc --print target-libdir --target "$musl" 2>/dev/null)" ]; then
    target=(--target "$musl")
fi
if [ "${1:-}" = --print-path ]; then
    echo "${CARGO_TARGET_DIR:-$PWD/collector-agent/target}/${target[1]:+${target[1]}/}release/tierscope-agent"
    exit
fi
deploy/dev/check-tools.sh rust
cd collector-agent
cargo build --locked --release --package tierscope-agent "${target[@]}"
