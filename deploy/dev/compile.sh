#!/usr/bin/env bash
# Compiles what a checkout runs, in one go and for this host: the agent, the program of simulated hosts beside it, and the
# simulator core for the environment's Python. Only changed parts are compiled again. compile.sh --print-agent says where the agent is then, and does not compile.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x "$(command -v cargo)" ] || export PATH="$PATH:$HOME/.cargo/bin"
built=${CARGO_TARGET_DIR:-$PWD/collector-agent/target}/checkout
if [ "${1:-}" = --print-agent ]; then
    echo "$built/tierscope-agent"
    exit
fi
deploy/dev/check-tools.sh rust

# The core is compiled for every Python from 3.11 on: none is asked, so that this can run before there is an environment.
# Linked as an extension module, it takes Python's symbols from the program that loads it.
(cd "${CARGO_DIR:-collector-agent}" && PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1 \
    cargo build --locked --profile checkout --package tierscope-agent --package tierscope-fleet --package tierscope-simcore)

# `--no-install`: the environment is still being made; the caller comes again.
[ "${1:-}" != --no-install ] || exit 0
[ -x .venv/bin/python ] || exit 0
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
core=$site/tierscope_simcore.abi3.so
if [ -w "$site" ] && ! cmp --silent "$built/libtierscope_simcore.so" "$core"; then
    # One that was installed as a wheel would be imported in its place.
    rm -rf "$site"/tierscope_simcore "$site"/tierscope_simcore-*.dist-info
    # Programs that run keep the file that they have loaded.
    cp "$built/libtierscope_simcore.so" "$core.new"
    mv "$core.new" "$core"
    .venv/bin/python -c 'import tierscope_simcore; print("simcore", tierscope_simcore.__version__)' >&2
fi
