import { useMemo } from 'react'
import type { NodeBench } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { ChartPanel } from '../ChartPanel'
import type { Beside } from '../ghost'
import { useFigure } from '../useFigure'
import { loadedCurves, loadedLatencyFigure } from './figure'

interface LoadedLatencyChartProps {
  benches: NodeBench[] | undefined
  load: LoadState
  height: number
  beside?: Beside<NodeBench[]> | null
}

/** How the latency of each node's memory rises with load. */
export function LoadedLatencyChart({ benches, load, height, beside = null }: LoadedLatencyChartProps) {
  const figure = useFigure(loadedLatencyFigure, benches, beside)
  const curves = useMemo(() => loadedCurves(benches ?? []), [benches])
  const skipped = benches?.flatMap((bench) => bench.skipped).find((skip) => skip.name === 'loaded_latency')
  return (
    <ChartPanel
      chart="loadedLatency"
      name="loaded-latency"
      title="Latency under load"
      label="Memory latency against bandwidth"
      hint="Whiskers: 10th to 90th percentile of repetitions. Hollow: disturbed by other load."
      load={load}
      figure={figure}
      height={height}
      ghost={beside}
      legend={curves.map((curve) => ({ label: curve.label, colour: curve.colour }))}
      empty={
        benches !== undefined && curves.length === 0
          ? {
              title: 'Loaded latency not measured',
              next: skipped?.reason ?? 'Run `tierscope-agent bench` on the host. It takes a few minutes.',
            }
          : null
      }
    />
  )
}
