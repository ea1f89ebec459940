import type { ReactNode } from 'react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { InstallationStatus } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { hostCountsQuery, hostsQuery } from '../../api/queries/fleet/hosts'
import { statusQuery } from '../../api/queries/operate/status'
import { formatDuration } from '../../lib/units/time'
import { formatCount } from '../../lib/units/units'
import { CountStat } from '../../ui/figures/AmountStat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { useSession } from '../shell/access/useSession'
import { AgentVersions } from './AgentVersions'
import { CataloguePanel } from './CataloguePanel'
import { ComponentsTable } from './ComponentsTable'
import classes from './StatusPage.module.css'

function sentenceOf(status: InstallationStatus): string {
  const sick = status.components.filter(({ status: health }) => health === 'down' || health === 'degraded')
  if (sick.length === 0) return 'All components are healthy.'
  return sick
    .map((part) => `The ${part.name} ${part.name.endsWith('s') ? 'are' : 'is'} ${part.status}: ${part.detail}.`)
    .join(' ')
    .replaceAll('..', '.')
}

/** Health of the installation itself, its agents, and what it is. */
export function StatusPage(): ReactNode {
  const query = useQuery(statusQuery())
  const hosts = useQuery(hostsQuery(60_000))
  const counts = useQuery(hostCountsQuery(60_000))
  const { may } = useSession()
  const load = loadStateOf(query)
  const hostsLoad = loadStateOf(hosts)
  const hostsProblem = hosts.data === undefined ? hostsLoad.problem : null
  const status = query.data
  if (load.problem !== null && status === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const lag = status?.queue_lag_seconds ?? null
  return (
    <div data-testid="page-status">
      <Headline kicker={<h1>Status</h1>} sentence={status === undefined ? undefined : sentenceOf(status)} />
      <StatStrip label="The installation in figures" columns={2}>
        <CountStat
          label="Queued jobs"
          value={status?.marks_pending}
          note={lag === null ? 'queue lag unknown' : `queue lag ${formatDuration(lag)}`}
          warn={(lag ?? 0) > 300 && status?.catching_up === null}
        />
        {hostsProblem === null && (
          <CountStat
            label="Hosts reporting"
            value={counts.data?.reporting}
            of={counts.data?.hosts}
            note="see Hosts for each"
          />
        )}
      </StatStrip>
      <div className={classes.three}>
        <Panel title="Components" hint="parts of this installation" flush>
          <ComponentsTable components={status?.components} />
        </Panel>
        <Panel
          title="Agents"
          hint={
            <>
              {may('read:agents') ? <Link to="/agents">more about releases</Link> : 'versions in use'}
              {hosts.data?.truncated === true &&
                `, of ${formatCount(hosts.data.items.length)} of ${formatCount(hosts.data.matching)} hosts`}
            </>
          }
          flush
        >
          {hostsProblem === null ? (
            <AgentVersions hosts={hosts.data?.items} />
          ) : (
            <ProblemState problem={hostsProblem} onRetry={hostsLoad.retry} />
          )}
        </Panel>
        <Panel title="About" hint="this installation">
          <dl className={classes.about}>
            <dt>Version</dt>
            <dd>{status?.version ?? '…'}</dd>
            <dt>Storage</dt>
            <dd>
              {status === undefined
                ? '…'
                : status.storage === 'timescaledb'
                  ? 'PostgreSQL with TimescaleDB'
                  : 'PostgreSQL, partitioned by day'}
            </dd>
            <dt>Data</dt>
            <dd>{status === undefined ? '…' : status.simulated ? 'holds simulated hosts' : 'real hosts only'}</dd>
            <dt>Reading</dt>
            <dd>
              {status === undefined
                ? '…'
                : status.anonymous_reads
                  ? 'open without login, on loopback only'
                  : 'needs a login'}
            </dd>
            <dt>Hosts known</dt>
            <dd>{counts.data === undefined ? '…' : <Link to="/hosts">{formatCount(counts.data.hosts)}</Link>}</dd>
          </dl>
        </Panel>
      </div>
      <CataloguePanel />
    </div>
  )
}
