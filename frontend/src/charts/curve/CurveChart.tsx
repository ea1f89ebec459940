import type { Curve } from '../../api/_generated/schema'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import type { Beside } from '../ghost'
import { useFigure } from '../useFigure'
import { curveColour, curveFigure, type CurveAdvice } from './figure'

interface CurveChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'controls' | 'hint'> {
  curve: Curve | undefined
  advice: CurveAdvice | null
  beside?: Beside<Curve> | null
}

const measures = { accesses: 'of accesses', page_intervals: 'of page-intervals' } as const

/** Whether any curve has a value. */
export function hasServed(curve: Curve): boolean {
  return curve.curves.some(({ served }) => served.some((value) => value !== null))
}

/** How many accesses DRAM would serve at which share of memory. */
export function CurveChart({ curve, advice, beside = null, ...panel }: CurveChartProps) {
  const figure = useFigure(curveFigure, curve, advice, beside)
  const drawable = curve !== undefined && hasServed(curve)
  return (
    <ChartPanel
      chart="curve"
      {...panel}
      name="curve"
      title="DRAM hit ratio"
      label="DRAM hit ratio by DRAM size"
      figure={figure}
      ghost={beside}
      evidence={curve?.at_ratios.find(({ served }) => served.status === 'ok')?.served}
      empty={
        curve !== undefined && !drawable
          ? {
              title: 'No curve for this time range',
              next: curve.missing?.reason ?? 'Widen the time range. The curve needs page-level access counts.',
            }
          : null
      }
      legend={(curve?.curves ?? []).map(({ label, measure, name }) => ({
        label: `${label}, ${measures[measure]}${name === 'lru_interval' ? ' (dashed)' : ''}`,
        colour: curveColour(name),
      }))}
    />
  )
}
