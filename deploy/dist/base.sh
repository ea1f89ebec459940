#!/usr/bin/env bash
# Makes the image that the others stand on, where no registry is reached: Debian's minimal set from Debian's archive,
# without manuals, as debian:trixie-slim is. Prints its name. `make dist` makes it once; remove the archive to have it anew.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
suite=trixie
archive=$PWD/.build/dist-roots/$suite-slim.tar
name=localhost/tierscope-base:$suite
need_debian mmdebstrap=mmdebstrap buildah=buildah
if [ ! -e "$archive" ]; then
    mkdir -p "${archive%/*}"
    excluded=()
    for path in doc info locale man; do
        excluded+=("--dpkgopt=path-exclude=/usr/share/$path/*")
    done
    mmdebstrap --quiet --variant minbase "${excluded[@]}" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/log/* "$1"/var/cache/ldconfig' \
        "$suite" "${archive%.tar}.partial.tar" >&2
    mv "${archive%.tar}.partial.tar" "$archive"
fi
container=$("${BUILDAH[@]}" from scratch)
"${BUILDAH[@]}" add --quiet "$container" "$archive" / >/dev/null
"${BUILDAH[@]}" config --cmd /bin/sh --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
"${BUILDAH[@]}" commit --quiet --rm --timestamp "$SOURCE_DATE_EPOCH" "$container" "$name" >/dev/null
echo "$name"
