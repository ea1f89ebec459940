import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { reclaimableQuery } from '../../api/queries/fleet/fleet'
import { formatMoney } from '../../lib/tco/money'
import { formatRatio } from '../../lib/units/units'
import { Stat } from '../../ui/figures/Stat'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import { Term } from '../../ui/text/Term'
import classes from './FleetPage.module.css'

/** How much DRAM holds cold memory, what that DRAM costs a year, and on how much of the fleet's memory that rests. */
export function ReclaimablePanel({ refreshMs }: { refreshMs: number | null }) {
  const query = useQuery(reclaimableQuery(refreshMs))
  const load = loadStateOf(query)
  const found = query.data
  const cost = found?.annual_cost
  const known = found?.known_heat_ratio.value
  return (
    <Panel title="Reclaimable DRAM" hint="cold memory in DRAM, now" testId="fleet-reclaimable" flush>
      {found === undefined && load.problem !== null ? (
        <ProblemState problem={load.problem} onRetry={load.retry} />
      ) : (
        <>
          <Stat
            label={<Term name="coldInside">Cold in DRAM</Term>}
            name="Cold bytes in DRAM"
            figure={found?.cold_in_dram_bytes}
          />
          <div className={classes.note}>
            {found === undefined ? (
              <Skeleton height={36} />
            ) : cost ? (
              <>
                <strong data-testid="reclaimable-cost">{formatMoney(cost.value, cost.currency)} a year</strong> of DRAM
                ({formatMoney(cost.interval.lo, cost.currency)} to {formatMoney(cost.interval.hi, cost.currency)}), at{' '}
                {cost.price.label} of {cost.price.date}, over {cost.life_years} years, before what would hold that
                memory instead.
              </>
            ) : (
              <Prose text={found.reason ?? ''} />
            )}
          </div>
          <div className={classes.foot}>
            <span>{known == null ? '' : `heat known for ${formatRatio(known)} of all memory`}</span>
            <Link to="/tco" search={{ start: 'cxl' }}>
              What it would save
            </Link>
          </div>
        </>
      )}
    </Panel>
  )
}
