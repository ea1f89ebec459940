import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ServiceDetail, ServiceHeat } from '../../../api/_generated/schema'
import { heatQuery, listedHosts } from '../../../api/queries/heat/heat'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { AgeHistogramChart, hasBytes } from '../../../charts/ageHistogram/AgeHistogramChart'
import { ClassTimeChart } from '../../../charts/classTime/ClassTimeChart'
import type { ChartMark } from '../../../charts/eventMarks'
import { hasShares, WindowBarsChart } from '../../../charts/windowBars/WindowBarsChart'
import { measuredBy } from '../../../lib/units/figure'
import { formatCount } from '../../../lib/units/units'
import { pageKinds, type PageKindName, type SchemeName } from '../../../lib/url/urlState'
import { NotesList } from '../../../ui/text/NotesList'
import { Panel } from '../../../ui/layout/Panel'
import { ProblemState } from '../../../ui/states/ProblemState'
import { askOther, seriesOf, useBeside, useGhost, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { BesidePanel } from './BesidePanel'
import { HeatStats } from './HeatStats'
import { KindsTable } from './KindsTable'
import { SamplingPanel } from './SamplingPanel'
import { SchemeControl } from './SchemeControl'
import { ServiceHostsTable } from '../ServiceHostsTable'
import { ServiceMetricsCharts } from './ServiceMetricsCharts'
import { Columns } from '../../../ui/layout/Columns'
import { Stack } from '../../../ui/layout/Stack'
import classes from './OverviewTab.module.css'
import { SizesTable } from './SizesTable'
import { UnmeasuredPanel } from './UnmeasuredPanel'
import { WorkloadPanel } from './WorkloadPanel'

/** Hosts that the overview lists; the Hosts tab has all. */

const route = getRouteApi('/services/$serviceId')

interface OverviewTabProps {
  serviceId: string
  service: ServiceDetail | undefined
  marks: ChartMark[]
  comparison: TimeComparison | null
}

function agesOf(heat: ServiceHeat): ServiceHeat['age_histogram'] | null {
  return hasBytes(heat.age_histogram) ? heat.age_histogram : null
}

function windowsOf(heat: ServiceHeat): ServiceHeat['by_window'] | null {
  return hasShares(heat.by_window) ? heat.by_window : null
}

/** How hot the service is: classes by scheme, over time, by kind, by age, by host. */
export function OverviewTab({ serviceId, service, marks, comparison }: OverviewTabProps) {
  const { scheme = 'recency', threshold, kind } = route.useSearch()
  const navigate = route.useNavigate()
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(heatQuery(serviceId, { scheme, threshold, max_hosts: listedHosts }, range))
  const narrowed = useQuery(heatQuery(serviceId, { scheme, threshold, kind, max_hosts: listedHosts }, range))
  const other = askOther(comparison, serviceId, range)
  const otherHeat = useQuery({
    ...heatQuery(other.id, { scheme, threshold, kind, max_hosts: listedHosts }, other.range),
    ...other.options,
  })
  const ghost = useGhost(comparison, otherHeat, seriesOf)
  // Ages and windows are of all kinds, whichever is drawn over time, and after an event where that is compared.
  const whole = useQuery(heatQuery(serviceId, { scheme, threshold, max_hosts: listedHosts }, other.ownRange))
  const otherWhole = useQuery({
    ...heatQuery(other.id, { scheme, threshold, max_hosts: listedHosts }, other.range),
    ...other.options,
  })
  const otherAges = useBeside(comparison, otherWhole, agesOf)
  const otherWindows = useBeside(comparison, otherWhole, windowsOf)
  const load = loadStateOf(query)
  const heat = query.data
  const setScheme = (next: SchemeName, nextThreshold: number | undefined) =>
    void navigate({
      search: (before) => ({ ...before, scheme: next === 'recency' ? undefined : next, threshold: nextThreshold }),
      resetScroll: false,
    })
  const setKind = (next: PageKindName | undefined) =>
    void navigate({ search: (before) => ({ ...before, kind: next }), resetScroll: false })
  if (load.problem !== null && heat === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <Stack>
      <div className={classes.scheme}>
        <SchemeControl scheme={scheme} threshold={threshold} onChange={setScheme} />
        <p className={classes.words} data-testid="scheme-words">
          {heat === undefined ? '\u00a0' : schemeWords(heat.scheme)}
        </p>
        <p className={classes.words} data-testid="measured-by">
          {heat === undefined ? '\u00a0' : measuredWords(heat)}
        </p>
      </div>
      {service !== undefined && <WorkloadPanel service={service.summary} />}
      <HeatStats heat={heat} reason={service?.heat_reason ?? null} />
      <ClassTimeChart
        title="Hot, warm and cold over time"
        label="Hot, warm and cold memory over time"
        load={loadStateOf(narrowed)}
        heat={narrowed.data}
        marks={marks}
        ghost={ghost}
        height={260}
        evidence={heat?.classes.find((part) => part.heat_class === 'hot')?.bytes}
        onTimeZoom={zoomTo}
        controls={
          <SegmentedControl
            aria-label="Page kind"
            value={kind ?? 'all'}
            onChange={(value) => setKind(pageKinds.find((name) => name === value))}
            data={['all', ...pageKinds]}
          />
        }
      />
      <ServiceMetricsCharts serviceId={serviceId} marks={marks} comparison={comparison} />
      <Columns>
        <AgeHistogramChart
          buckets={whole.data?.age_histogram}
          beside={otherAges}
          scheme={whole.data?.scheme}
          evidence={whole.data?.classes[0]?.bytes}
          load={loadStateOf(whole)}
          height={230}
          hint="Bytes by intervals since last access."
        />
        <WindowBarsChart windows={whole.data?.by_window} beside={otherWindows} load={loadStateOf(whole)} height={230} />
      </Columns>
      <Columns>
        <Panel title="By page kind" flush>
          <KindsTable kinds={heat?.by_kind} />
        </Panel>
        <BesidePanel beside={heat?.beside} />
      </Columns>
      {heat !== undefined && heat.sampling !== null && <SamplingPanel sampling={heat.sampling} />}
      {heat !== undefined && heat.by_size.length > 1 && (
        <Panel title="By page size" hint="one access makes a whole huge page hot" flush testId="heat-by-size">
          <SizesTable sizes={heat.by_size} />
        </Panel>
      )}
      <div>
        <Panel title="Hosts" hint="with heat in this time range" flush>
          <ServiceHostsTable hosts={heat?.hosts} />
        </Panel>
      </div>
      <UnmeasuredPanel hosts={heat?.not_measured} />
      <NotesList notes={heat?.grounding_notes} />
    </Stack>
  )
}

function measuredWords(heat: ServiceHeat): string {
  const sample = heat.beside.sampled_pages.value
  const others = heat.other_methods.length === 0 ? '' : ` · also measured: ${heat.other_methods.join(', ')}`
  return `Measured by ${measuredBy(heat)}${sample === null ? '' : `, ${formatCount(sample)} sampled pages`}${others}`
}

function schemeWords(scheme: { hot: string; warm: string | null; cold: string; snapped: string | null }): string {
  const parts = [`Hot: ${scheme.hot}`, scheme.warm === null ? null : `Warm: ${scheme.warm}`, `Cold: ${scheme.cold}`]
  return `${parts.filter((part) => part !== null).join(' · ')}${scheme.snapped === null ? '' : ` (${scheme.snapped})`}`
}
