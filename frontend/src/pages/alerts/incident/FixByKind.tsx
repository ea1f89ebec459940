import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Incident } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { forecastQuery } from '../../../api/queries/capacity/capacity'
import { hostQuery } from '../../../api/queries/fleet/hosts'
import { ForecastChart } from '../../../charts/forecast/ForecastChart'
import { formatBytes, formatRatio } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import { ProblemState } from '../../../ui/states/ProblemState'
import { daysOf } from '../../capacity/forecastDays'
import classes from './Incident.module.css'
import { HostLink, ServiceLink } from '../../shell/links'

/** Memory that runs out: the forecast behind the alert, and the plan of what to buy or free. */
export function CapacityFix({ incident }: { incident: Incident }) {
  const { id, name } = incident.subject
  const query = useQuery(forecastQuery({ kind: 'service', id, metric: 'resident', horizonDays: 90 }))
  return (
    <>
      <Panel title="Do this: plan memory" testId="incident-fix">
        <p className={classes.text}>
          No setting gives {name} more memory. See{' '}
          <Link to="/capacity" search={{ subject: id }}>
            its forecast
          </Link>
          , then the{' '}
          <Link to="/capacity" search={{ tab: 'plan' }}>
            plan of hosts by quarter
          </Link>
          ; and what of its memory{' '}
          <ServiceLink id={id} tab="advice">
            could leave DRAM
          </ServiceLink>
          .
        </p>
      </Panel>
      <ForecastChart
        title="Forecast"
        days={query.data === undefined ? undefined : daysOf(query.data)}
        load={loadStateOf(query)}
        height={220}
        empty={query.data?.refused == null ? null : { title: 'No forecast', next: query.data.refused }}
      />
    </>
  )
}

/** An agent that is silent, over its budget or loses samples: how to look, and how to mend it. */
export function AgentFix({ incident }: { incident: Incident }) {
  const { id, kind, name } = incident.subject
  return (
    <Panel title="Do this: mend the agent" testId="incident-fix">
      <p className={classes.text}>
        On {name} run <span className="ts-mono">systemctl status tierscope-agent</span>, then{' '}
        <span className="ts-mono">journalctl -u tierscope-agent -n 50</span> and{' '}
        <span className="ts-mono">tierscope-agent doctor</span>, which names what is missing. What the agent collected
        meanwhile is kept on the host and sent when it reaches this service again.
      </p>
      {kind === 'host' && (
        <p className={classes.text}>
          <HostLink id={id} tab="setup">
            What it last said of itself
          </HostLink>
        </p>
      )}
    </Panel>
  )
}

/** Which node has free memory, where allocations go to another one than the wanted. */
export function FreeMemory({ hostId, name }: { hostId: string; name: string | null }) {
  const query = useQuery(hostQuery(hostId, null))
  const load = loadStateOf(query)
  return (
    <Panel title={`Where ${name ?? 'the host'} has free memory`} hint="now" testId="incident-free">
      {query.data === undefined ? (
        load.problem === null ? (
          <Skeleton height={64} />
        ) : (
          <ProblemState problem={load.problem} onRetry={load.retry} />
        )
      ) : (
        <ul className={classes.evidence}>
          {query.data.nodes.map(({ id, tier_class: tier, free_bytes: free, memory_bytes: whole }) => (
            <li key={id}>
              node {id}, {tier}:{' '}
              <strong>
                {free === null
                  ? 'not known'
                  : `${formatBytes(free)}${whole === null ? '' : ` (${formatRatio(free / whole)})`}`}
              </strong>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
