import { useMemo } from 'react'
import { gapColours } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import {
  gapTimelineFigure,
  gapTimelineHeight,
  gapWords,
  hostsWithGaps,
  mostHosts,
  type GapKind,
  type HostGaps,
} from './figure'

interface GapTimelineChartProps extends Pick<ChartPanelProps, 'load' | 'onTimeZoom'> {
  /** Undefined while there is no answer. */
  hosts: HostGaps[] | undefined
  window: { start: string; end: string } | undefined
}

/** When which host sent nothing, and why. */
export function GapTimelineChart({ hosts, window, ...panel }: GapTimelineChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(
    () => (hosts === undefined || window === undefined ? null : gapTimelineFigure(hosts, window, theme)),
    [hosts, window, theme],
  )
  const rows = hosts === undefined ? mostHosts / 3 : hostsWithGaps(hosts).length
  const kinds = new Set(hosts?.flatMap(({ gaps }) => gaps.map(({ kind }) => kind)))
  return (
    <ChartPanel
      chart="gapTimeline"
      {...panel}
      name="gap-timeline"
      title="Gaps by host"
      label="Timeline of gaps by host"
      hint={
        rows > mostHosts ? `the ${mostHosts} hosts with the longest gaps; the table has all of this page` : undefined
      }
      figure={figure}
      height={gapTimelineHeight(rows)}
      empty={
        hosts !== undefined && rows === 0
          ? { title: 'No gaps on these hosts', next: 'Every expected interval has arrived.' }
          : null
      }
      legend={[
        ...(Object.keys(gapWords) as GapKind[])
          .filter((kind) => kinds.has(kind))
          .map((kind) => ({ label: gapWords[kind], colour: gapColours[kind] })),
        { label: 'not enrolled', hatched: true },
      ]}
    />
  )
}
