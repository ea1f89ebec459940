#!/usr/bin/env bash
# Packs the Helm chart as `helm package` does, but with the time of the commit instead of the present. Tests compare what it
# makes with what kustomize makes of deploy/kubernetes.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
need_go_tool helm.sh/helm/v3/cmd/helm@v3.19.0
# Later ones need a newer Go.
need_go_tool sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
chart=$OUT/chart/tierscope-$VERSION.tgz
rm -rf "$OUT/chart"
mkdir -p "$OUT/chart"
tar --create --sort name --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX \
    --directory deploy/helm tierscope | gzip --no-name -9 >"$chart"
helm lint --strict --quiet "$chart" --kube-version 1.30.0
echo "created chart: ${chart#"$PWD/"}"
