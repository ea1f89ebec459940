import type { CollectorInfo } from '../../../api/_generated/schema'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { Prose } from '../../../ui/text/Prose'
import classes from './CollectorsTable.module.css'

function stateOf({ active, failures }: CollectorInfo): 'on' | 'off' | 'failing' {
  if (!active) return 'off'
  return (failures ?? 0) > 0 ? 'failing' : 'on'
}

function State({ collector }: { collector: CollectorInfo }) {
  const state = stateOf(collector)
  if (state === 'failing')
    return <ToneTag tone="warning" label={state} meaning={collector.last_error ?? 'Some collections failed.'} />
  return <ToneTag tone={state === 'on' ? 'good' : 'neutral'} label={state} />
}

function WhyOff({ collector }: { collector: CollectorInfo }) {
  if (collector.active) return null
  return (
    <div className={classes.text}>
      <Prose text={collector.reason ?? ''} />
      {collector.enable_hint !== null && (
        <span className={classes.hint}>
          To turn it on: <Prose text={collector.enable_hint} />
        </span>
      )}
    </div>
  )
}

function Needs({ collector }: { collector: CollectorInfo }) {
  const privilege = collector.privilege ?? (collector.capabilities.length === 0 ? 'nothing' : 'capabilities')
  const unsaid = collector.capabilities.filter((capability) => !privilege.includes(capability))
  return (
    <>
      {privilege}
      {unsaid.length > 0 && <span className={classes.hint}>{unsaid.join(', ')}</span>}
    </>
  )
}

const columns: Column<CollectorInfo>[] = [
  { key: 'name', header: 'Collector', cell: (collector) => <span className="ts-mono">{collector.name}</span> },
  { key: 'state', header: 'State', cell: (collector) => <State collector={collector} />, value: stateOf },
  {
    key: 'sees',
    header: 'Collects',
    cell: (collector) => (
      <div className={classes.text}>
        <Prose text={collector.sees ?? ''} />
        {collector.granularity !== null && <span className={classes.hint}>by {collector.granularity}</span>}
      </div>
    ),
  },
  {
    key: 'cost',
    header: 'Cost',
    cell: (collector) => (
      <div className={classes.text}>
        <Prose text={collector.cost ?? ''} />
      </div>
    ),
  },
  {
    key: 'needs',
    header: 'Needs',
    cell: (collector) => <Needs collector={collector} />,
    value: (collector) => [collector.privilege ?? '', ...collector.capabilities].join(' ').trim() || 'nothing',
  },
  {
    key: 'why',
    header: 'Reason',
    cell: (collector) => <WhyOff collector={collector} />,
    value: (collector) => (collector.active ? null : collector.reason),
  },
  labelledColumn('cpu', 'CPU now', (collector) => [collector.cpu_ratio, `CPU share of ${collector.name}`]),
]

/** What the agent collects here: what each collector sees, costs and needs, and why the rest is off. */
export function CollectorsTable({ collectors }: { collectors: CollectorInfo[] | undefined }) {
  const ranked =
    collectors === undefined ? undefined : [...collectors].sort((a, b) => Number(b.active) - Number(a.active))
  return (
    <DataTable
      label="Collectors"
      columns={columns}
      rows={ranked}
      rowKey={(collector) => collector.name}
      empty={{
        title: 'No collectors reported',
        next: 'The agent sends them with its inventory; check that it is up to date.',
      }}
    />
  )
}
