#!/usr/bin/env bash
# Packs the Helm chart with the version of the release. Its archive carries the time of packing: helm writes it.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
need_go_tool helm.sh/helm/v3/cmd/helm@v3.19.0
chart=$OUT/chart
rm -rf "$chart"
mkdir -p "$chart"
helm lint --strict --quiet deploy/helm/tierscope --kube-version 1.30.0
helm package deploy/helm/tierscope --version "$VERSION" --app-version "$VERSION" --destination "$chart" >/dev/null
echo "created chart: ${chart#"$PWD/"}/tierscope-$VERSION.tgz"
