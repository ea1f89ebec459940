import type { Ratio } from '../../api/_generated/schema'
import { seriesColour } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { sweepFigure } from './figure'

interface SweepChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  ratio: Ratio | undefined
}

/** What every DRAM share would cost. */
export function SweepChart({ ratio, ...panel }: SweepChartProps) {
  const figure = useFigure(sweepFigure, ratio)
  return (
    <ChartPanel
      chart="sweep"
      {...panel}
      name="sweep"
      title="Loss by DRAM share"
      label="Expected loss of throughput by share of DRAM"
      hint="median to one-sided 95 % upper bound"
      figure={figure}
      evidence={ratio?.chosen?.loss_upper ?? ratio?.candidates[0]?.loss_upper}
      empty={
        ratio !== undefined && ratio.sweep === null
          ? { title: 'No loss curve', next: ratio.refused[0] ?? 'There are no page samples yet.' }
          : null
      }
      legend={[
        { label: 'loss, median to upper bound', colour: seriesColour(0) },
        { label: '● keeps the target, 95 %' },
        { label: '✕ may miss it' },
      ]}
    />
  )
}
