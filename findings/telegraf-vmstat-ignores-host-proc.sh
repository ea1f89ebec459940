#!/usr/bin/env bash
# Telegraf 1.37.2: kernel_vmstat reads /proc of its own mounts while mem reads that of HOST_PROC.
# Guess: HOST_PROC=/host/proc, as its documents say for containers, holds for all inputs that read /proc.
# Needs Go and its module proxy; the modules take minutes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$PATH:/usr/local/go/bin GOPATH=$work/go GOFLAGS="-mod=mod -modcacherw -buildvcs=false"
mkdir "$work/proc"
printf 'pgfault 777\n' >"$work/proc/vmstat"
printf '%s kB\n' "MemTotal: 1048576" "MemFree: 1024" "MemAvailable: 2048" "Buffers: 0" "Cached: 0" >"$work/proc/meminfo"
cat >"$work/go.mod" <<'EOF'
module example.invalid/reads

go 1.25

require github.com/influxdata/telegraf v1.37.2
EOF
cat >"$work/main.go" <<'EOF'
package main

import (
	"fmt"

	"github.com/influxdata/telegraf/plugins/inputs"
	_ "github.com/influxdata/telegraf/plugins/inputs/kernel_vmstat"
	_ "github.com/influxdata/telegraf/plugins/inputs/mem"
	"github.com/influxdata/telegraf/testutil"
)

func main() {
	var got testutil.Accumulator
	for _, name := range []string{"kernel_vmstat", "mem"} {
		input := inputs.Inputs[name]()
		if start, ok := input.(interface{ Init() error }); ok && start.Init() != nil {
			panic(name)
		}
		if err := input.Gather(&got); err != nil {
			panic(err)
		}
	}
	faults, _ := got.Int64Field("kernel_vmstat", "pgfault")
	total, _ := got.Uint64Field("mem", "total")
	fmt.Println(faults, total)
}
EOF
(cd "$work" && go build -o reads . 2>"$work/log") || { tail -3 "$work/log" >&2; exit 1; }
read -r faults total < <(HOST_PROC=$work/proc "$work/reads")
echo "Telegraf 1.37.2, HOST_PROC has pgfault 777 and MemTotal 1048576 kB"
echo "mem says total $total; kernel_vmstat says pgfault $([ "$faults" = 777 ] && echo 777 || echo "of this machine's own /proc")"
[ "$total" = 1073741824 ] && [ "$faults" != 777 ] || { echo "the behaviour has changed" >&2; exit 1; }
