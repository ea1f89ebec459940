import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { CounterAnswer, HostDetail } from '../../api/_generated/schema'
import { hostPodsQuery } from '../../api/queries/fleet/pods'
import { hostPressureQuery } from '../../api/queries/ledger/counters'
import { hostTriageQuery } from '../../api/queries/alerts/alerts'
import { loadStateOf } from '../../api/queries/base/loadState'
import { knobAdviceQuery } from '../../api/queries/knobs'
import { hostLedgerQuery } from '../../api/queries/ledger/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { linesInPages } from '../../charts/ledger/figure'
import { IncidentChart } from '../../charts/incident/IncidentChart'
import { LedgerChart } from '../../charts/ledger/LedgerChart'
import { LinesChart } from '../../charts/lines/LinesChart'
import { counterLines } from '../../charts/lines/counterLines'
import { podsNote } from '../../lib/text/pods'
import { Panel } from '../../ui/layout/Panel'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Term } from '../../ui/text/Term'
import { askOther, useGhost, type TimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { FindingsList } from './FindingsList'
import { HostFacts } from './HostFacts'
import { Columns } from '../../ui/layout/Columns'
import { Stack } from '../../ui/layout/Stack'
import classes from './HostPage.module.css'
import { HostServicesTable } from './HostServicesTable'
import { PodsTable } from './PodsTable'
import { Topology } from './topology/Topology'

interface HostOverviewTabProps {
  hostId: string
  host: HostDetail | undefined
  marks: ChartMark[]
  comparison: TimeComparison | null
}

function ratesOf(answer: CounterAnswer) {
  return { axis: answer.axis, lines: counterLines(answer, 'rate') }
}

/** The host at a glance: figures, findings, tiers, moves, pressure, services, pods. */
export function HostOverviewTab({ hostId, host, marks, comparison }: HostOverviewTabProps) {
  const { range, zoomTo } = useTimeRange()
  const ledger = useQuery(hostLedgerQuery(hostId, range))
  const pods = useQuery({
    ...hostPodsQuery(hostId, range.refreshMs),
    enabled: host?.pods !== null && host?.pods !== undefined,
  })
  const triage = useQuery(hostTriageQuery(hostId, range))
  const knobs = useQuery(knobAdviceQuery(hostId, range))
  const advice = knobs.data?.advice ?? (knobs.isError ? null : undefined)
  const pressure = useQuery(hostPressureQuery(hostId, range))
  const other = askOther(comparison, hostId, range)
  const otherLedger = useQuery({ ...hostLedgerQuery(other.id, other.range), ...other.options })
  const otherPressure = useQuery({ ...hostPressureQuery(other.id, other.range), ...other.options })
  const ledgerGhost = useGhost(comparison, otherLedger, linesInPages)
  const pressureGhost = useGhost(comparison, otherPressure, ratesOf)
  const lines = useMemo(() => counterLines(pressure.data, 'rate'), [pressure.data])
  const missing = pressure.data?.reason ?? 'Pressure stall information needs a kernel with CONFIG_PSI; see Setup.'
  return (
    <Stack>
      <StatStrip label="Headline figures of the host" columns={6}>
        <Stat label="Memory" name="Memory" figure={host?.summary.memory_bytes} />
        <Stat
          label={<Term name="promotion">Promoted</Term>}
          name="Promotions"
          figure={host?.summary.promotion_pages_per_s}
        />
        <Stat
          label={<Term name="demotion">Demoted</Term>}
          name="Demotions"
          figure={host?.summary.demotion_pages_per_s}
        />
        <Stat
          label={<Term name="psi">PSI memory, some</Term>}
          name="Memory pressure"
          figure={host?.summary.psi_memory_some_ratio}
        />
        <Stat label="Agent CPU" name="Agent CPU share of one core" figure={host?.agent_cpu_ratio} />
        <Stat label="Agent memory" name="Agent memory" figure={host?.agent_rss_bytes} />
      </StatStrip>
      <div className={classes.wide}>
        <Panel title="Memory tiers" hint="nodes by tier, with use, watermarks, latency and bandwidth" testId="topology">
          <Topology nodes={host?.nodes} swaps={host?.swaps} byAgent={host?.summary.agent_version !== null} />
        </Panel>
        <Panel title="What is wrong" hint="and what to do, the gravest first" testId="findings">
          <FindingsList host={host?.summary} advice={advice} />
        </Panel>
      </div>
      <IncidentChart
        name="host-triage"
        title="What happened"
        label="What the kernel did on this host, and what it did to its services"
        incident={triage.data}
        load={loadStateOf(triage)}
        height={470}
        zoom={null}
        onTimeZoom={zoomTo}
      />
      <Columns stretch>
        <LedgerChart
          ledger={ledger.data}
          load={loadStateOf(ledger)}
          height={220}
          marks={marks}
          ghost={ledgerGhost}
          onTimeZoom={zoomTo}
        />
        <LinesChart
          name="host-psi"
          title={<Term name="psi">Memory pressure</Term>}
          label="Memory pressure over time"
          load={loadStateOf(pressure)}
          axis={pressure.data?.axis}
          lines={lines}
          ghost={pressureGhost}
          marks={marks}
          height={220}
          evidence={host?.summary.psi_memory_some_ratio}
          onTimeZoom={zoomTo}
          emptyText={{ title: 'No pressure data in this time range', next: missing }}
        />
      </Columns>
      <Columns stretch>
        <Panel title="Services on this host" flush>
          <HostServicesTable services={host?.services} />
        </Panel>
        <Panel title="Facts">
          <HostFacts host={host} />
        </Panel>
      </Columns>
      {host?.pods !== null && host?.pods !== undefined && (
        <Panel title="Pods on this host" hint={`${host.pods.n_pods}`} testId="host-pods" flush>
          <PodsTable of="host" pods={pods.data?.items} load={loadStateOf(pods)} note={podsNote(host.pods)} />
        </Panel>
      )}
    </Stack>
  )
}
