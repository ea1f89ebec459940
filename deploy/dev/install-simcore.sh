#!/usr/bin/env bash
# Compiles the simulator core (dev profile) and puts its wheel into .venv. The rest of the product runs without it.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
wheels=$root/.build/wheels
rm -rf "$wheels"
.venv/bin/maturin build --quiet --locked --manifest-path backend/simcore/Cargo.toml --profile dev \
    --interpreter "$root/.venv/bin/python" --out "$wheels" >&2
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')
rm -rf "$site"/tierscope_simcore "$site"/tierscope_simcore-*.dist-info
.venv/bin/python -m zipfile -e "$wheels"/tierscope_simcore-*.whl "$site"
.venv/bin/python -c 'import tierscope_simcore; print("simcore", tierscope_simcore.__version__)'
