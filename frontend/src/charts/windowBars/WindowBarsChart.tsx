import type { WindowHeat } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { heatColours } from '../../lib/palette'
import { ChartPanel } from '../ChartPanel'
import type { Beside } from '../ghost'
import { useFigure } from '../useFigure'
import { windowBarsFigure } from './figure'

interface WindowBarsChartProps {
  windows: WindowHeat[] | undefined
  beside?: Beside<WindowHeat[]> | null
  load: LoadState
  height: number
}

/** Whether any window has a share. */
export function hasShares(windows: WindowHeat[]): boolean {
  return windows.some((window) => window.active_ratio.value !== null)
}

/** How much memory is touched within 1, 2, 5 and 10 intervals. */
export function WindowBarsChart({ windows, beside = null, load, height }: WindowBarsChartProps) {
  const figure = useFigure(windowBarsFigure, windows, beside)
  const drawable = windows !== undefined && hasShares(windows)
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
      ghost={beside}
      legend={[{ label: 'accessed', colour: heatColours.hot }]}
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
