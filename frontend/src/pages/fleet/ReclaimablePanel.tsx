import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { reclaimableQuery } from '../../api/queries/fleet/fleet'
import { formatMoney, formatMoneyRange } from '../../lib/tco/money'
import { countOf, formatBytes, formatRatio } from '../../lib/units/units'
import { Stat } from '../../ui/figures/Stat'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import { Term } from '../../ui/text/Term'
import classes from './FleetPage.module.css'

/** How much DRAM holds cold memory, what proven ratios save a year, and on how much of the fleet's memory that rests. */
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
            ) : found.saving !== null ? (
              <>
                <strong data-testid="reclaimable-cost">
                  {formatMoney(found.saving.net_per_year, found.saving.currency)} a year
                </strong>{' '}
                saved at proven ratios ({formatMoney(found.saving.net_per_year_p10, found.saving.currency)} to{' '}
                {formatMoney(found.saving.net_per_year_p90, found.saving.currency)}), net of what takes the place of{' '}
                {formatBytes(found.saving.dram_freed_bytes)} of DRAM: the sum of {found.saving.n_services} of{' '}
                {countOf(found.saving.n_judged, 'service')}.
              </>
            ) : cost ? (
              <>
                No ratio is costed yet. The DRAM that holds cold memory costs{' '}
                <strong data-testid="reclaimable-cost">{formatMoneyRange(cost)} a year</strong>.
              </>
            ) : (
              <Prose text={found.reason ?? ''} />
            )}
          </div>
          <div className={classes.foot}>
            <span>{known == null ? '' : `heat known for ${formatRatio(known)} of all memory`}</span>
            <Link to="/services" search={{ sort: '-gain' }}>
              By service
            </Link>
          </div>
        </>
      )}
    </Panel>
  )
}
