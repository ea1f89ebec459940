#!/usr/bin/env bash
# before.sh [COMMIT]: packs the service of an older commit the way this one is packed, for the proof of an upgrade. Without
# a word: the newest tag, else the last commit before the newest revision of the schema. Its image lies in
# .build/dist-before/images.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
commit=${1:-$(git describe --tags --abbrev=0 2>/dev/null || git log -1 --format=%H^ --diff-filter=A -- migrations/versions)}
commit=$(git rev-parse --verify "$commit^{commit}")
before=$PWD/.build/dist-before
tree=$before/tree
rm -rf "$before"
mkdir -p "$tree/.build"
git archive "$commit" | tar --extract --directory "$tree"
rm -rf "$tree/deploy"
cp -r deploy .dockerignore "$tree"
cp -r frontend/dist "$tree/frontend"
cp -r docs/_site "$tree/docs"
ln -s "$PWD/.venv" "$tree/.venv"
for kept in containers dist-tools dist-roots uv; do
    mkdir -p "$PWD/.build/$kept"
    ln -s "$PWD/.build/$kept" "$tree/.build/$kept"
done
# What both commits link is compiled once, and so with the same flags.
export CARGO_TARGET_DIR=$PWD/collector-agent/target REMAPPED=$PWD REVISION=$commit
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
"$tree/deploy/dist/wheels.sh" backend/simcore
"$tree/deploy/dist/packages.sh" deb13
"$tree/deploy/dist/images.sh" service
mv "$tree/.build/dist/images" "$before/images"
rm -rf "$tree"
echo "the service of $(git log -1 --format='%h, %s' "$commit"): ${before#"$PWD/"}/images"
