import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ServiceMetrics } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { serviceMetricsQuery } from '../../../api/queries/fleet/serviceMetrics'
import type { ChartMark } from '../../../charts/eventMarks'
import type { Line } from '../../../charts/lines/figure'
import { LinesChart } from '../../../charts/lines/LinesChart'
import { Prose } from '../../../ui/text/Prose'
import { narrowGhost } from '../../../charts/ghost'
import { askOther, seriesOf, useGhost, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import classes from './OverviewTab.module.css'

const charts = [
  { name: 'throughput', title: 'Throughput', keys: ['throughput'] },
  { name: 'latency', title: 'Latency', keys: ['latency_p50', 'latency_p99'] },
  { name: 'load', title: 'Load', keys: ['load'] },
]

function linesOf(metrics: ServiceMetrics | undefined, keys: string[]): Line[] {
  return metrics?.series.filter((series) => keys.includes(series.key)) ?? []
}

interface ServiceMetricsChartsProps {
  serviceId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

/** What the service says of itself, one chart per unit; nothing but a line of text where it says nothing. */
export function ServiceMetricsCharts({ serviceId, marks, comparison }: ServiceMetricsChartsProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(serviceMetricsQuery(serviceId, range))
  const other = askOther(comparison, serviceId, range)
  const otherMetrics = useQuery({ ...serviceMetricsQuery(other.id, other.range), ...other.options })
  const ghost = useGhost(comparison, otherMetrics, seriesOf)
  const metrics = query.data
  const shown = useMemo(
    () =>
      charts
        .map((chart) => ({ ...chart, lines: linesOf(metrics, chart.keys), ghost: narrowGhost(ghost, chart.keys) }))
        .filter((chart) => chart.lines.length > 0),
    [metrics, ghost],
  )
  if (metrics === undefined) return null
  if (shown.length === 0)
    return (
      <p className={classes.words} data-testid="service-metrics-absent">
        Throughput and latency: not collected. <Prose text={metrics.reason ?? ''} />
      </p>
    )
  const hosts = `${metrics.n_hosts} of ${metrics.of_hosts} hosts report`
  return (
    <div className={classes.several}>
      {shown.map((chart) => (
        <LinesChart
          key={chart.name}
          name={`service-${chart.name}`}
          title={chart.title}
          label={`${chart.title} of the service`}
          hint={hosts}
          load={loadStateOf(query)}
          axis={metrics.axis}
          lines={chart.lines}
          ghost={chart.ghost}
          marks={marks}
          height={200}
          onTimeZoom={zoomTo}
          emptyText={{ title: `No ${chart.title.toLowerCase()} in this time range`, next: 'Widen the time range.' }}
        />
      ))}
    </div>
  )
}
