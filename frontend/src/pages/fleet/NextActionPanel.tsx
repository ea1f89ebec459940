import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { adviceQuery } from '../../api/queries/advice'
import { loadStateOf } from '../../api/queries/base/loadState'
import { formatMoney } from '../../lib/tco/money'
import { formatBytes } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { EmptyState } from '../../ui/states/EmptyState'
import { ProblemState } from '../../ui/states/ProblemState'
import { Prose } from '../../ui/text/Prose'
import classes from './FleetPage.module.css'
import { HostLink, ServiceLink } from '../shell/links'

/** What to do first: the open advice with the highest proven gain, else with most memory at stake. */
export function NextActionPanel({ refreshMs }: { refreshMs: number | null }) {
  const query = useQuery(adviceQuery({ kind: undefined, status: 'open' }, refreshMs))
  const load = loadStateOf(query)
  const cards = query.data?.items
  const first = cards?.[0]
  return (
    <Panel
      title="Next best action"
      hint={cards === undefined ? 'of all open advice' : `of ${cards.length} open pieces of advice`}
      testId="fleet-next-action"
      flush
    >
      {cards === undefined && load.problem !== null ? (
        <ProblemState problem={load.problem} onRetry={load.retry} />
      ) : cards === undefined ? (
        <div className={classes.note}>
          <Skeleton height={96} />
        </div>
      ) : first === undefined ? (
        <EmptyState
          title="No open advice"
          next="Hosts and services are judged within minutes of their first data, and every hour after that."
        />
      ) : (
        <>
          <div className={classes.action}>
            <strong>
              <Prose text={first.title} />
            </strong>
            <span className={classes.subject}>
              {first.hosts > 1 ? `${first.hosts} hosts` : first.subject_name}
              {first.gain?.net_per_year_p10 != null && first.gain.net_per_year_p10 > 0
                ? `, ${formatMoney(first.gain.net_per_year ?? 0, first.gain.currency ?? '')} a year`
                : first.stake_bytes !== null && `, ${formatBytes(first.stake_bytes)} in the wrong tier`}
            </span>
            <p>
              <Prose text={first.sentence} />
            </p>
          </div>
          <div className={classes.foot}>
            {first.service_id !== null ? (
              <ServiceLink id={first.service_id} tab="advice">
                Why
              </ServiceLink>
            ) : first.host_id !== null ? (
              <HostLink id={first.host_id} tab="advice">
                Why
              </HostLink>
            ) : (
              <span />
            )}
            <Link to="/advice">All advice</Link>
          </div>
        </>
      )}
    </Panel>
  )
}
