#!/usr/bin/env bash
# OpenTelemetry: system.memory.usage "free" is MemFree of Python's library and MemAvailable of Node.js's.
# Guess: one metric of the semantic conventions is one figure, whichever language sends it, and the sum of its states is
# the memory of the machine, which the conventions say it should be.
# opentelemetry-instrumentation-system-metrics 0.66b2 (psutil 7.2.2) and @opentelemetry/host-metrics 0.39.0 (Node.js 20).
# Needs python3 with venv, Node.js 20, PyPI and the npm registry.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv env
env/bin/pip install -q --disable-pip-version-check opentelemetry-instrumentation-system-metrics==0.66b2 \
    opentelemetry-sdk==1.45.2 psutil==7.2.2
npm install --silent --no-audit --no-fund --ignore-scripts @opentelemetry/host-metrics@0.39.0 \
    @opentelemetry/sdk-metrics@2.12.1 @opentelemetry/api@1.9.0
cat >send.js <<'END'
const {HostMetrics} = require("@opentelemetry/host-metrics");
const {MeterProvider, PeriodicExportingMetricReader, InMemoryMetricExporter} = require("@opentelemetry/sdk-metrics");
const kept = new InMemoryMetricExporter(0);
const reader = new PeriodicExportingMetricReader({exporter: kept, exportIntervalMillis: 60000});
const provider = new MeterProvider({readers: [reader]});
new HostMetrics({meterProvider: provider}).start();
provider.forceFlush().then(() => {
  const metrics = kept.getMetrics().flatMap((one) => one.scopeMetrics).flatMap((one) => one.metrics);
  const usage = metrics.find((one) => one.descriptor.name === "system.memory.usage");
  for (const point of usage.dataPoints) console.log(point.attributes["system.memory.state"], point.value);
  process.exit(0);
});
END
cat >send.py <<'END'
from opentelemetry.instrumentation.system_metrics import SystemMetricsInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

reader = InMemoryMetricReader()
provider = MeterProvider([reader])
SystemMetricsInstrumentor(config={"system.memory.usage": ["used", "free", "cached"]}).instrument(meter_provider=provider)
(usage,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
for point in usage.data.data_points:
    print(point.attributes["state"], point.value)
END
echo "opentelemetry-instrumentation-system-metrics 0.66b2, @opentelemetry/host-metrics 0.39.0, Node.js $(node --version)"
# Clean page cache, so that free and available memory differ.
head -c 400M /dev/zero >cached
grep -E '^Mem(Total|Free|Available):' /proc/meminfo | tee kernel
env/bin/python send.py >python.txt
node send.js >node.txt
sed 's/^/Python: /' python.txt
sed 's/^/Node.js: /' node.txt
python3 - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
def read(path, scale=1.0):
    return {name.rstrip(":"): float(value) * scale for name, value, *_ in map(str.split, open(path))}

kernel, python, node = read("kernel", 1024.0), read("python.txt"), read("node.txt")
middle = (kernel["MemFree"] + kernel["MemAvailable"]) / 2
assert kernel["MemAvailable"] - kernel["MemFree"] > 100 << 20, "the machine has too little page cache to tell"
assert python["free"] < middle < node["free"], "both are free, or both available"
assert abs(node["free"] + node["used"] - kernel["MemTotal"]) < 1e6
assert sum(python.values()) > 1.005 * kernel["MemTotal"]
print(f"Node.js over Python: {node['free'] / python['free']:.2f} times as much is free")
print(f"sum of Python's states over MemTotal: {sum(python.values()) / kernel['MemTotal']:.2f}")
END
