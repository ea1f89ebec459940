#!/usr/bin/env bash
# Builds a collector of OpenTelemetry with the parts that tests/usecases/test_otel_collector.py needs: .build/collector/otelcol.
# Needs Go; the modules are pinned in deploy/dev/collector. It takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=$(command -v go || echo /usr/local/go/bin/go)
[ -x "$go" ] || { echo "Go is not installed: install it from the distribution or https://go.dev" >&2; exit 1; }
mkdir -p .build/collector
(cd deploy/dev/collector && "$go" build -buildvcs=false -o ../../../.build/collector/otelcol .)
echo ".build/collector/otelcol"
