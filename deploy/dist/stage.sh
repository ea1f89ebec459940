#!/usr/bin/env bash
# stage.sh PYTHON, such as 3.13: lays the service out as a virtual environment of that Python, in /usr/lib/tierscope below
# .build/dist-stage/PYTHON, which it prints. Packages and images carry this same tree.
# It holds the packages of requirements-runtime.lock, checked by hash, and the wheels of this release. The interpreter is
# the system's: nothing is run or compiled here, so that one machine stages for all.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
python=$1
[ -d "$OUT/wheels" ] || die "there are no wheels" "make dist ARGS=wheels"
tree=$STAGE/$python
home=$tree/usr/lib/tierscope
site=$home/lib/python$python/site-packages
install_into() {
    "$(find_uv)" pip install --quiet --python .venv/bin/python --target "$site" --python-version "$python" \
        --python-platform "$MACHINE-manylinux_2_28" --only-binary :all: --link-mode copy "$@"
}
rm -rf "$tree"
mkdir -p "$site"
install_into --require-hashes --requirement requirements-runtime.lock
# The agent is a package of its own.
mapfile -t wheels < <(find "$OUT/wheels" -name '*.whl' ! -name 'tierscope_agent-*')
install_into --no-deps --no-index "${wheels[@]}"
# Scripts of Python packages name the interpreter of this machine.
find "$site/bin" -type f ! -name tierscope-fleet -delete
rm -f "$site/.lock"
mkdir -p "$home/bin" "$tree/usr/bin"
ln -s "/usr/bin/python$python" "$home/bin/python"
printf 'home = /usr/bin\ninclude-system-site-packages = false\nversion = %s\n' "$python" >"$home/pyvenv.cfg"
cat >"$home/bin/tierscope" <<'SCRIPT'
#!/usr/lib/tierscope/bin/python
from tierscope.cli.main import main

main()
SCRIPT
chmod 0755 "$home/bin/tierscope"
ln -s ../lib/tierscope/bin/tierscope "$tree/usr/bin/tierscope"
manual=$tree/usr/share/man/man1
.venv/bin/tierscope man "$manual" 2>/dev/null
gzip -9n "$manual"/*.1
mkdir -p "$tree/usr/share/bash-completion/completions"
.venv/bin/tierscope completion bash >"$tree/usr/share/bash-completion/completions/tierscope"
.venv/bin/python deploy/sbom/carried.py service "$site" "$home"
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
echo "$tree"
