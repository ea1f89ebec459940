#!/usr/bin/env bash
# Makes the images of docker-compose.yml and deploy/kubernetes as OCI archives, from the packages of this release.
# images.sh [--base IMAGE] [NAME...]: takes a registry's Debian 13, such as debian:trixie-slim, in place of one that is
# made here; makes all images without a name.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
need_debian buildah=buildah
# podman-compose, with which the proof reads docker-compose.yml.
need_build_tools
compgen -G "$OUT/packages/tierscope_*.deb" >/dev/null || die "there are no packages" 'make dist ARGS="wheels packages"'
if [ "${1:-}" = --base ]; then
    base=$2
    shift 2
else
    base=$(deploy/dist/base.sh)
fi
[ $# -gt 0 ] || set -- service agent database queue
images=$OUT/images
rm -rf "$images"
mkdir -p "$images"

declare -A titles=(
    [service]="Tierscope service: API, dashboard, workers, scheduler"
    [agent]="Tierscope agent"
    [database]="PostgreSQL with TimescaleDB"
    [queue]="Valkey"
)
# An image of servers holds packages of Debian, each with its copyright file.
declare -A licences=([service]=Apache-2.0 [agent]=Apache-2.0 [database]="PostgreSQL AND Apache-2.0" [queue]=BSD-3-Clause)
for image in "$@"; do
    name=tierscope/$image:$VERSION
    said=()
    for pair in "title=${titles[$image]}" "version=$VERSION" "revision=${REVISION:-$(git rev-parse HEAD)}" \
        "licenses=${licences[$image]}" "source=https://tierscope.dev" "base.name=$base"; do
        said+=(--label "org.opencontainers.image.$pair" --annotation "org.opencontainers.image.$pair")
    done
    "${BUILDAH[@]}" build --quiet --isolation chroot --format oci --timestamp "$SOURCE_DATE_EPOCH" \
        --build-arg "BASE=$base" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" "${said[@]}" \
        --build-context "packages=$OUT/packages" \
        --file deploy/docker/Dockerfile --target "$image" --tag "localhost/$name" . >/dev/null
    # The archive that buildah itself writes carries the present time.
    layout=$STAGE/images/$image
    rm -rf "$layout"
    mkdir -p "$layout"
    "${BUILDAH[@]}" push --quiet "localhost/$name" "oci:$layout:$name"
    archive=$images/tierscope-$image-$VERSION-$MACHINE.oci.tar
    tar --create --sort name --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX \
        --directory "$layout" --file "$archive" .
    echo "created image: ${archive#"$PWD/"} $(stat --format %s "$archive")"
done
