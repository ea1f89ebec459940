import type { Ledger } from '../../api/_generated/schema'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'

/** Who moves, with the column of the ledger that tells how much. */
const movers = [
  ['promoted_pages', 'Promoted', 'Promoted by NUMA balancing'],
  ['demoted_pages', 'Demoted', 'Demoted by reclaim'],
  ['damon_promoted_bytes', 'Up by DAMON', 'Moved to the top tier by DAMON'],
  ['damon_demoted_bytes', 'Down by DAMON', 'Moved to slower tiers by DAMON'],
  ['damon_paged_out_bytes', 'Out by DAMON', 'Reclaimed by DAMON'],
] as const

/** What NUMA balancing, reclaim and DAMON's schemes each moved, with the evidence of each or why there is no number. */
export function MoversStrip({ ledger }: { ledger: Ledger | undefined }) {
  return (
    <StatStrip label="Who moves pages" columns={movers.length}>
      {movers.map(([key, label, name]) => (
        <Stat key={key} label={label} name={name} figure={ledger?.columns.find((one) => one.key === key)?.rate} />
      ))}
    </StatStrip>
  )
}
