import type { PlanSwap, SwapOfService } from '../../api/_generated/schema'
import { formatMoneyRange } from '../../lib/tco/money'
import { formatRatio } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import { FactList } from '../../ui/layout/FactList'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { figureColumn } from '../../ui/tables/figureColumn'
import { SwapVerdictTag } from '../../ui/tags/SwapVerdictTag'
import { Prose } from '../../ui/text/Prose'

function column(key: 'swap_bytes' | 'wait_ratio' | 'loss_ratio' | 'drive_life_years', header: string) {
  return figureColumn<SwapOfService>(
    key,
    header,
    (row) => row[key] ?? undefined,
    (row) => row.service,
  )
}

const columns: Column<SwapOfService>[] = [
  { key: 'service', header: 'Service', cell: (row) => row.service },
  {
    key: 'verdict',
    header: 'Swap',
    cell: (row) => (row.verdict === null ? 'not known' : <SwapVerdictTag verdict={row.verdict} />),
  },
  column('swap_bytes', 'On swap'),
  column('wait_ratio', 'Added waits'),
  column('loss_ratio', 'Loss'),
  column('drive_life_years', 'Drive lasts'),
  {
    key: 'cost',
    header: 'Cost a year',
    numeric: true,
    cell: (row) => (row.cost_per_year === null ? null : formatMoneyRange(row.cost_per_year)),
  },
  {
    key: 'saving',
    header: 'Saving a year',
    numeric: true,
    cell: (row) => (row.saving_per_year === null ? null : formatMoneyRange(row.saving_per_year)),
  },
  { key: 'why', header: 'Why', cell: (row) => <Prose text={row.why} /> },
]

/** What a plan holds on swap: its size, cost, wear and added waits, and each service with what its advice says. */
export function PlanSwapPanel({ swap }: { swap: PlanSwap }) {
  const { cost_per_year: cost, saving_per_year: saving } = swap
  return (
    <>
      <Panel
        title="Cold memory on swap"
        hint={`now; for a loss of at most ${formatRatio(swap.loss_target)}; saving against DRAM`}
        testId="plan-swap"
      >
        <FactList
          facts={[
            ['On swap', <FigureText key="held" figure={swap.swap_bytes} label="Memory on swap" />],
            ['DRAM that it takes', <FigureText key="pool" figure={swap.pool_bytes} label="DRAM of the pool" />],
            ['Cost a year', cost === null ? 'none' : formatMoneyRange(cost)],
            ['Saving a year', saving === null ? 'none' : formatMoneyRange(saving)],
            ['Drives last', <FigureText key="life" figure={swap.drive_life_years} label="Life of the drives" />],
            ['Added waits, of one thread', <FigureText key="waits" figure={swap.wait_ratio} label="Added waits" />],
            ['Keep out of swap', swap.keep_out.length === 0 ? 'nobody' : swap.keep_out.join(', ')],
          ]}
        />
      </Panel>
      <Panel title="Swap by service" hint="as its own advice says" flush testId="plan-swap-services">
        <DataTable label="Swap by service" columns={columns} rows={swap.services} rowKey={(row) => row.service_id} />
      </Panel>
    </>
  )
}
