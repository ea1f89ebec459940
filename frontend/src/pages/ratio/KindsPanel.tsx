import type { Ratio } from '../../api/_generated/schema'
import { formatBytes, formatCount } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import { Prose } from '../../ui/text/Prose'
import { rangeText } from './ratioWords'
import classes from './RatioView.module.css'

type Kind = Ratio['kinds'][number]

const notSaid = <Nothing status="not_collected" reason="The inventories of its hosts do not say." />

const columnsOf = (headline: Kind | undefined): Column<Kind>[] => [
  {
    key: 'kind',
    header: 'Hosts',
    value: (kind) => kind.cpu_model,
    cell: (kind) => (
      <>
        {kind.cpu_model ?? notSaid}
        {kind.headline && <span className={classes.why}> shown above</span>}
      </>
    ),
  },
  amountColumn('n', 'Count', (kind) => kind.n_hosts, formatCount, { unit: 'hosts' }),
  amountColumn('dram', 'DRAM', (kind) => kind.dram_bytes, formatBytes, { unit: 'bytes', absent: notSaid }),
  amountColumn('slow', 'Slow', (kind) => kind.slow_bytes, formatBytes, { unit: 'bytes', absent: 'none' }),
  {
    key: 'answer',
    header: 'DRAM:CXL',
    value: (kind) => kind.chosen ?? rangeText(kind.range),
    cell: (kind) => <strong>{kind.chosen ?? rangeText(kind.range)}</strong>,
  },
  { key: 'grade', header: 'Grade', cell: (kind) => kind.grade ?? '–' },
  {
    key: 'sentence',
    header: 'Why',
    value: (kind) => kind.sentence,
    cell: (kind) =>
      kind !== headline && kind.sentence === headline?.sentence ? 'the same' : <Prose text={kind.sentence} />,
  },
]

/** The answer for each kind of host, where the service runs on several. */
export function KindsPanel({ kinds }: { kinds: Kind[] }) {
  return (
    <Panel title="By kind of host" hint="the replay is of all kinds together" flush testId="ratio-kinds">
      <DataTable
        label="Answers by kind of host"
        columns={columnsOf(kinds.find(({ headline }) => headline))}
        rows={kinds}
        rowKey={(kind) => kind.sentence + kind.n_hosts + kind.dram_bytes}
      />
    </Panel>
  )
}
