import type { CapacityPlan, PlanDemand } from '../../api/_generated/schema'
import { HostsNeededChart } from '../../charts/hostsNeeded/HostsNeededChart'
import { PackingChart } from '../../charts/packing/PackingChart'
import { countHosts } from '../../charts/packing/figure'
import type { LoadState } from '../../lib/loadState'
import { formatBytes, formatCount, formatRatio } from '../../lib/units/units'
import { Columns } from '../../ui/layout/Columns'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import { NotesList } from '../../ui/text/NotesList'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import { StateNote } from '../../ui/states/StateNote'
import { planSentence } from './planSentence'
import { PlanSwapPanel } from './PlanSwapPanel'

interface PlanResultsProps {
  /** Undefined while there is no answer. */
  plan: CapacityPlan | undefined
  load: LoadState
  measured: boolean | undefined
}

const nothingToPack = {
  title: 'Nothing to plan',
  next: 'A plan needs services with measured memory; see Forecast for what is missing.',
}

/** Hosts that each quarter needs, the packing of today, what does not fit, and what each service asks for. */
export function PlanResults({ plan, load, measured }: PlanResultsProps) {
  if (load.problem !== null && plan === undefined) {
    return (
      <Panel title="No plan">
        <ProblemState problem={load.problem} onRetry={load.retry} />
      </Panel>
    )
  }
  const empty = measured === false || plan?.demands.length === 0 ? nothingToPack : null
  const hosts = (packed: CapacityPlan['packing']['with'] | undefined) => {
    if (packed === undefined) return '\u00a0'
    const count = countHosts(packed)
    return `${formatCount(count)} ${count === 1 ? 'host' : 'hosts'}, packed now`
  }
  return (
    <>
      {plan !== undefined && empty === null && (
        <StateNote tone="info" testId="plan-sentence">
          {planSentence(plan)}
        </StateNote>
      )}
      {plan !== undefined && plan.unplaced.length > 0 && (
        <StateNote tone="warning" testId="plan-unplaced">
          <p>
            <strong>Does not fit any of these hosts:</strong>
          </p>
          <ul>
            {plan.unplaced.slice(0, 8).map((one) => (
              <li key={`${one.quarter}-${one.service_id}-${String(one.tiering)}`}>
                {one.service}, {one.quarter}, {one.tiering ? 'with' : 'without'} tiering: <Prose text={one.why} />
              </li>
            ))}
            {plan.unplaced.length > 8 && <li>and {plan.unplaced.length - 8} more</li>}
          </ul>
        </StateNote>
      )}
      <HostsNeededChart
        quarters={plan?.quarters}
        load={load}
        height={260}
        hint="at the end of each quarter, with growth and headroom"
        empty={empty}
      />
      <Columns>
        <PackingChart
          name="packing-without"
          title="Without tiering"
          label="Hosts without tiering, filled by tier"
          hint={hosts(plan?.packing.without)}
          hosts={plan?.packing.without}
          load={load}
          height={140}
          empty={empty}
        />
        <PackingChart
          name="packing-with"
          title="With tiering"
          label="Hosts with tiering, filled by tier"
          hint={hosts(plan?.packing.with)}
          hosts={plan?.packing.with}
          load={load}
          height={140}
          empty={empty}
        />
        {plan?.packing.with_swap != null && (
          <PackingChart
            name="packing-swap"
            title="With tiering and swap"
            label="Hosts with tiering and swap, filled by tier"
            hint={hosts(plan.packing.with_swap)}
            hosts={plan.packing.with_swap}
            load={load}
            height={140}
            empty={empty}
          />
        )}
      </Columns>
      {plan?.swap != null && empty === null && <PlanSwapPanel swap={plan.swap} />}
      <Panel title="Demand by service" hint="now, and its growth" flush testId="plan-demands">
        <DataTable
          label="Demand by service"
          columns={demandColumns}
          rows={empty === null ? plan?.demands : []}
          rowKey={(row) => row.service_id}
          empty={{ title: nothingToPack.title, next: nothingToPack.next }}
        />
      </Panel>
      <NotesList notes={plan?.notes} />
    </>
  )
}

const demandColumns: Column<PlanDemand>[] = [
  { key: 'service', header: 'Service', cell: (row) => row.service },
  amountColumn('hosts', 'Hosts now', (row) => row.hosts, formatCount),
  amountColumn('memory', 'Memory', (row) => row.memory_bytes, formatBytes, { unit: 'bytes' }),
  amountColumn('dram', 'DRAM need', (row) => row.dram_bytes, formatBytes, { unit: 'bytes' }),
  { key: 'dram-by', header: 'by', name: 'DRAM need by', cell: (row) => <Prose text={row.dram_by} /> },
  amountColumn('growth', 'Growth a quarter', (row) => row.growth_ratio_per_quarter, formatRatio, { unit: 'ratio' }),
  { key: 'growth-by', header: 'by', name: 'Growth by', cell: (row) => <Prose text={row.grows_by} /> },
]
