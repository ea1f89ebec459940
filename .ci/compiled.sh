# What one run leaves for the next in the user's cache directory: compiled Rust code, and what the type checker has
# concluded, which it judges by the contents of files. Sourced by .ci/run.

# Sets CARGO_DIR, CARGO_TARGET_DIR and MYPY_CACHE_DIR. One run at a time uses them, for as long as descriptor 9 is open;
# another compiles in its clone.
share_compiled() {
    [ -z "${CARGO_TARGET_DIR:-}" ] || return 0
    command -v rustc >/dev/null || export PATH="$HOME/.cargo/bin:$PATH"
    command -v rustc >/dev/null && command -v flock >/dev/null || return 0
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/tierscope/ci mine other
    mkdir -p "$cache" && [ -w "$cache" ] || return 0
    exec 9>"$cache/lock"
    if ! flock --nonblock 9; then
        echo "another run uses $cache: this one compiles in its own clone"
        exec 9>&-
        return 0
    fi
    if ! mirror_commit "$cache/tree"; then
        echo "there is no commit of exactly these files: this run compiles in its own clone"
        exec 9>&-
        return 0
    fi
    mine=$cache/rust-$(rustc --version --verbose | sha256sum | cut -c 1-12)
    for other in "$cache"/rust-*; do
        [ "$other" = "$mine" ] || rm -rf "$other"
    done
    bound_size "$mine" "${TIERSCOPE_CI_CACHE_MIB:-8192}"
    mkdir -p "$mine"
    export CARGO_DIR=$cache/tree/collector-agent CARGO_TARGET_DIR=$mine MYPY_CACHE_DIR=$cache/mypy
    echo "compiled code is kept in $mine"
}

# Removes a directory that has grown beyond a number of MiB: cargo never removes what nobody uses any more.
bound_size() {
    [ -d "$1" ] && [ "$(du -s -m "$1" | cut -f 1)" -gt "$2" ] || return 0
    echo "$1 has grown beyond $2 MiB and is made anew"
    rm -rf "$1"
}

# Brings a second clone to the commit of this one; fails where this one differs from its commit. Cargo compares times of
# files, and compiles their paths into tests: in a new clone all are new. Git writes those that differ, and no others.
mirror_commit() {
    local tree=$1
    [ -z "$(git status --porcelain 2>&1)" ] || return 1
    [ -d "$tree/.git" ] || git init --quiet "$tree" || return 1
    git -C "$tree" fetch --quiet --depth 1 "file://$PWD" HEAD &&
        git -C "$tree" checkout --quiet --force --detach FETCH_HEAD &&
        git -C "$tree" clean --quiet -ffdx
}
