import type { ReactNode } from 'react'
import type { SweepSearch } from '../../api/_generated/schema'
import { seriesColour } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { knobSearchFigure } from './figure'

interface KnobSearchChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  search: SweepSearch
  /** The setting on the axis. */
  setting: string
  title: ReactNode
  hint: ReactNode
  controls?: ReactNode
  wrap?: (plot: ReactNode) => ReactNode
}

/** How the loss depends on a setting, and how much that setting matters near its best. */
export function KnobSearchChart({ search, setting, ...panel }: KnobSearchChartProps) {
  const theme = useChartTheme()
  const figure = useFigure(knobSearchFigure, search, setting)
  const drawable = search.points.some((point) => point.loss !== null)
  return (
    <ChartPanel
      chart="knobSearch"
      {...panel}
      name={`knob-search-${search.policy}-${search.dram_ratio.toFixed(3)}`}
      label={`Loss by ${setting}`}
      figure={figure}
      empty={drawable ? null : { title: 'No run of this search has finished', next: 'Points appear as runs finish.' }}
      legend={[
        { label: 'runs; line: the least loss at each value', colour: seriesColour(0) },
        { label: '★ best', colour: theme.accent },
        { label: 'shaded: close to the best' },
      ]}
    />
  )
}
