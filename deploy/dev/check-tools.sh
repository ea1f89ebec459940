#!/usr/bin/env bash
# Checks the tools of the machine before they fail with something less clear: check-tools.sh {python|node|rust}...
set -euo pipefail
cd "$(dirname "$0")/../.."

refuse() {
    printf 'error: %s\nnext:  %s\n' "$1" "$2" >&2
    exit 1
}

# Tells whether dotted version $1 is at least $2.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

check_python() {
    local python=${PYTHON:-python3}
    command -v "$python" >/dev/null || refuse "Python is not installed" "install Python 3.11 or later"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        refuse "$("$python" --version) is too old" "install Python 3.11 or later, or set PYTHON to one"
}

# Node.js of the machine, or the one that was brought; brings it where neither will do.
check_node() {
    local wanted=22.12.0
    export PATH="$PWD/.build/node/bin:$PATH"
    has_node "$wanted" || deploy/dev/bring-node.sh ||
        refuse "Node.js $wanted or later is not installed, and could not be brought from PyPI" \
            "install Node.js with npm, or Python's venv module (python3-venv) and a way to PyPI"
}

has_node() {
    command -v npm >/dev/null && command -v node >/dev/null && at_least "$(node --version | tr -d v)" "$1"
}

# The same for Rust: the machine's, rustup's, or the distribution's.
check_rust() {
    local wanted
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' collector-agent/Cargo.toml | head -n 1)
    export PATH="$PWD/.build/rust/bin:$PATH:$HOME/.cargo/bin"
    has_rust "$wanted" || deploy/dev/bring-rust.sh "$wanted" ||
        refuse "Rust $wanted or later and a C compiler are not installed, and could not be brought from the distribution" \
            "install a C compiler, and Rust from the distribution or https://rustup.rs"
}

has_rust() {
    command -v cargo >/dev/null && command -v rustc >/dev/null && command -v cc >/dev/null &&
        at_least "$(rustc --version | cut -d ' ' -f 2)" "$1"
}

for tool in "$@"; do
    "check_$tool"
done
