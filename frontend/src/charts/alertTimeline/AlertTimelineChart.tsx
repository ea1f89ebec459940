import { useMemo, type ReactNode } from 'react'
import { alertState, alertStateColour } from '../../lib/alerts'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import {
  alertTimelineFigure,
  mostRows,
  timelineHeight,
  timelineRows,
  type TimelineRows,
  type TimelineSpan,
} from './figure'

interface AlertTimelineChartProps extends Pick<ChartPanelProps, 'load' | 'onTimeZoom' | 'onPointClick'> {
  spans: TimelineSpan[] | undefined
  window: { start: string; end: string } | undefined
  by: TimelineRows
  controls: ReactNode
}

/** Alerts over the time range, a row for each rule or subject. */
export function AlertTimelineChart({ spans, window, by, ...panel }: AlertTimelineChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(
    () => (spans === undefined || window === undefined ? null : alertTimelineFigure(spans, by, window, theme)),
    [spans, window, by, theme],
  )
  const end = window === undefined ? 0 : Date.parse(window.end) / 1000
  const rows = spans === undefined ? 4 : timelineRows(spans, by, end).length
  return (
    <ChartPanel
      chart="alertTimeline"
      {...panel}
      name="alert-timeline"
      title={by === 'rule' ? 'Alerts by rule' : 'Alerts by subject'}
      label="Timeline of alerts"
      hint={rows > mostRows ? `the ${mostRows} most severe of ${rows} rows; the table has all` : 'most severe first'}
      figure={figure}
      height={timelineHeight(rows)}
      empty={
        spans?.length === 0
          ? {
              title: 'No alert in this time range',
              next: 'Widen the time range, or see Rules for what is monitored.',
            }
          : null
      }
      legend={(['firing', 'pending', 'no_data'] as const).map((state) => ({
        label: alertState(state).label,
        colour: alertStateColour(state, theme.name),
      }))}
    />
  )
}
