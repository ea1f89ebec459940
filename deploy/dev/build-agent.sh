#!/usr/bin/env bash
# Compiles the agent for use: static against musl where that target and its C compiler are installed, else for this host.
# TIERSCOPE_AGENT_LINKING=dynamic compiles it for this host anyway: the clock of a static program cannot be set.
# build-agent.sh --print-path says where the program is then, and does not compile.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x "$(command -v cargo)" ] || export PATH="$HOME/.cargo/bin:$PATH"

target=()
musl="$(uname -m)-unknown-linux-musl"
if [ "${TIERSCOPE_AGENT_LINKING:-}" != dynamic ] && command -v musl-gcc >/dev/null && command -v rustc >/dev/null &&
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
