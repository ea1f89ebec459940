import { useMemo } from 'react'
import type { WindowHeat } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import { windowBarsFigure } from './figure'

interface WindowBarsChartProps {
  windows: WindowHeat[] | undefined
  load: LoadState
  height: number
}

/** How much memory is touched within 1, 2, 5 and 10 intervals. */
export function WindowBarsChart({ windows, load, height }: WindowBarsChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(() => (windows === undefined ? null : windowBarsFigure(windows, theme)), [windows, theme])
  const drawable = windows?.some((window) => window.active_ratio.value !== null) ?? false
  const reason = windows?.find((window) => window.active_ratio.reason !== null)?.active_ratio.reason
  return (
    <ChartPanel
      chart="windowBars"
      name="window-bars"
      title="Accessed in the last N intervals"
      label="Share of memory accessed in the last N intervals"
      hint="Whiskers: bounds or confidence interval."
      load={load}
      figure={figure}
      height={height}
      evidence={windows?.[0]?.active_ratio}
      empty={
        windows !== undefined && !drawable
          ? {
              title: 'No windows in this time range',
              next: reason ?? 'Windows need at least one interval with heat: widen the time range.',
            }
          : null
      }
    />
  )
}
