#!/usr/bin/env bash
# Telegraf 1.37.2: inputs.prometheus and remote write put the type of a metric behind its name, and name Telegraf's own host.
# Guess: what a node_exporter prints comes out of remote write under its own names, with the host that was scraped.
# Needs Go and its module proxy; the modules take minutes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$PATH:/usr/local/go/bin GOPATH=$work/go GOFLAGS="-mod=mod -modcacherw -buildvcs=false"
cat >"$work/go.mod" <<'EOF'
module example.invalid/names

go 1.25

require github.com/influxdata/telegraf v1.37.2
EOF
cat >"$work/main.go" <<'EOF'
package main

import (
	"fmt"
	"net/http"
	"sort"

	"github.com/golang/snappy"
	"github.com/influxdata/telegraf"
	"github.com/influxdata/telegraf/plugins/parsers/prometheus"
	"github.com/influxdata/telegraf/plugins/serializers/prometheusremotewrite"
	"github.com/prometheus/prometheus/prompb"
)

const page = `# TYPE node_vmstat_pgpromote_success untyped
node_vmstat_pgpromote_success 7
# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 8589934592
# TYPE node_context_switches_total counter
node_context_switches_total 5
`

func main() {
	for _, version := range []int{1, 2} {
		parser := &prometheus.Parser{MetricVersion: version, Header: http.Header{}, Log: nothing{}}
		metrics, err := parser.Parse([]byte(page))
		if err != nil {
			panic(err)
		}
		writer := &prometheusremotewrite.Serializer{Log: nothing{}}
		packed, err := writer.SerializeBatch(metrics)
		if err != nil {
			panic(err)
		}
		body, err := snappy.Decode(nil, packed)
		if err != nil {
			panic(err)
		}
		var request prompb.WriteRequest
		if err := request.Unmarshal(body); err != nil {
			panic(err)
		}
		var names []string
		for _, series := range request.Timeseries {
			for _, label := range series.Labels {
				if label.Name == "__name__" {
					names = append(names, label.Value)
				}
			}
		}
		sort.Strings(names)
		fmt.Println(version, names)
	}
}

type nothing struct{ telegraf.Logger }
EOF
(cd "$work" && go build -o names . 2>"$work/log") || { tail -3 "$work/log" >&2; exit 1; }
"$work/names" | tee "$work/said"
grep -q '^1 .*node_vmstat_pgpromote_success_value' "$work/said" && grep -q '^2 .*node_vmstat_pgpromote_success\b' "$work/said" \
    || { echo "the behaviour has changed" >&2; exit 1; }
