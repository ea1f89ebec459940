# Sourced by the scripts of `make dist`: where everything goes, what it is called, and the tools that make it.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
umask 0022
export LC_ALL=C.UTF-8 TZ=UTC
# Files carry the time of the commit, so that a commit gives the same bytes whenever it is built.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
VERSION=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' backend/tierscope/__init__.py)
MACHINE=$(uname -m)
OUT=$PWD/.build/dist
STAGE=$PWD/.build/dist-stage
TOOLS=$PWD/.build/dist-tools
# Images are kept apart from those of the account.
BUILDAH=(buildah --root "$PWD/.build/containers/storage" --runroot "$PWD/.build/containers/run")
mkdir -p "$OUT" "$STAGE"
# What deploy/dev/bring-*.sh have brought, as the Makefile has it.
export PATH="$TOOLS/bin:$PWD/.build/node/bin:$PWD/.build/rust/bin:$PATH"

die() {
    printf 'error: %s\nnext:  %s\n' "$1" "$2" >&2
    exit 1
}

# Names the uv that deploy/dev/install-python.sh uses.
find_uv() {
    if command -v uv >/dev/null && uv --version >/dev/null 2>&1; then
        command -v uv
    elif [ -x .build/uv/bin/uv ]; then
        echo "$PWD/.build/uv/bin/uv"
    else
        die "uv is not installed" "pip install uv, or make .venv with deploy/dev/install-python.sh"
    fi
}

# Build tools that are no part of the development environment, pinned by hash.
need_build_tools() {
    local uv stamp=$TOOLS/.installed
    [ ! -e "$stamp" ] || ! cmp -s "$stamp" deploy/dist/tools.lock || return 0
    uv=$(find_uv)
    "$uv" venv --quiet --allow-existing --python .venv/bin/python "$TOOLS"
    VIRTUAL_ENV=$TOOLS "$uv" pip sync --quiet --require-hashes deploy/dist/tools.lock
    cp deploy/dist/tools.lock "$stamp"
}

# need_go_tool MODULE@VERSION: compiles a program of the Go proxy once, checked against Go's checksum database.
need_go_tool() {
    local name=${1%@*}
    # A module of a later version ends with its number.
    [[ ! $name =~ /v[0-9]+$ ]] || name=${name%/*}
    name=${name##*/}
    [ ! -e "$TOOLS/bin/$name.$(basename "$1")" ] || return 0
    command -v go >/dev/null || die "$name is missing and Go is not installed" "install Go 1.25 or later (https://go.dev/dl)"
    echo "compiling $1"
    GOBIN=$TOOLS/bin GOFLAGS=-trimpath CGO_ENABLED=0 go install "$1"
    touch "$TOOLS/bin/$name.$(basename "$1")"
}

# need_debian PROGRAM=PACKAGE...: says which packages to install.
need_debian() {
    local missing=() pair
    for pair in "$@"; do
        command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
    done
    [ ${#missing[@]} -eq 0 ] || die "programs are missing" "apt-get install ${missing[*]}"
}
