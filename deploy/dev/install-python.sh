#!/usr/bin/env bash
# Makes .venv with exactly the packages of requirements.lock, checked by their hashes, and this package on top.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/dev/check-tools.sh python
python=${PYTHON:-python3}

# uv honours other names for what pip is configured with: an index, its certificate, directories of wheels.
pip_setting() {
    "$python" -m pip config get "global.$1" 2>/dev/null || true
}
mirror_pip_settings() {
    local index cert links
    index=${PIP_INDEX_URL:-$(pip_setting index-url)}
    cert=${PIP_CERT:-$(pip_setting cert)}
    links=${PIP_FIND_LINKS:-$(pip_setting find-links)}
    [ -z "$index" ] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index}
    [ -z "$cert" ] || export SSL_CERT_FILE=${SSL_CERT_FILE:-$cert}
    [ -z "$links" ] || export UV_FIND_LINKS=${UV_FIND_LINKS:-$links}
}

# uv lives apart from .venv, which holds the locked packages and nothing else.
find_uv() {
    if command -v uv >/dev/null && uv --version >/dev/null 2>&1; then
        command -v uv
        return
    fi
    if [ ! -x .build/uv/bin/uv ]; then
        "$python" -m venv .build/uv >&2 && .build/uv/bin/python -m pip install --quiet uv >&2 || return 0
    fi
    echo "$PWD/.build/uv/bin/uv"
}

mirror_pip_settings
uv=$(find_uv)
if [ -n "$uv" ]; then
    [ -x .venv/bin/python ] || "$uv" venv --quiet --python "$("$python" -c 'import sys; print(sys.executable)')" .venv
    VIRTUAL_ENV=$PWD/.venv "$uv" pip sync --quiet --require-hashes requirements.lock
    VIRTUAL_ENV=$PWD/.venv "$uv" pip install --quiet --no-deps --editable .
else
    echo "uv cannot be installed; pip takes longer"
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --require-hashes --requirement requirements.lock
    .venv/bin/python -m pip install --quiet --no-deps --editable .
fi
# Compiles the 2,000 modules that the programs import. Where PYTHONDONTWRITEBYTECODE is set nobody else ever would.
env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -c 'import tierscope.cli.main, tierscope.api.app, tierscope.worker.app'
echo "Python: $(.venv/bin/python --version) with $(grep -c '^[a-z0-9A-Z].*==' requirements.lock) locked packages"
