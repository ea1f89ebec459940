import { Button, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AgentVersions } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { agentVersionsQuery, pausesQuery } from '../../api/queries/fleet/agents'
import { countOf } from '../../lib/units/units'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import { useNow } from '../shell/time/useNow'
import { AgentHostsTable } from './AgentHostsTable'
import { AgentVersionsTable } from './AgentVersionsTable'
import { PausesPanel } from './PausesPanel'

const route = getRouteApi('/agents')

function sentenceOf({ versions, service_version: service, refused_hosts: refused }: AgentVersions): string {
  const hosts = versions.reduce((sum, row) => sum + row.hosts, 0)
  const current = versions.filter(({ standing }) => standing === 'current').reduce((sum, row) => sum + row.hosts, 0)
  if (hosts === 0) return 'No agent has reported yet.'
  const refusals =
    refused === 0 ? '' : ` ${countOf(refused, 'host')} cannot be read; their data stays buffered on disk.`
  return `${current} of ${hosts} hosts run the release of this service, ${service}.${refusals}`
}

/** Releases of the agent side by side during a rolling upgrade, the hosts that are behind, and the pauses. */
export function AgentsPage(): ReactNode {
  const { show } = route.useSearch()
  const navigate = route.useNavigate()
  const now = useNow()
  const query = useQuery(agentVersionsQuery(show !== 'all'))
  const pauses = useQuery(pausesQuery())
  const load = loadStateOf(query)
  const view = query.data
  if (load.problem !== null && view === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <div data-testid="page-agents">
      <Headline
        kicker={<h1>Agents</h1>}
        sentence={view === undefined ? undefined : sentenceOf(view)}
        aside={
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/add-hosts" />}>
            Add hosts
          </Button>
        }
      />
      <Stack>
        <Panel
          title="Releases in use"
          hint={
            view === undefined
              ? undefined
              : `this service reads protocol ${view.protocol}; the oldest release that it supports is ${view.oldest_supported ?? 'unknown'}`
          }
          flush
          testId="agent-versions"
        >
          <AgentVersionsTable versions={view?.versions} now={now} />
        </Panel>
        <Panel
          title={show === 'all' ? 'All hosts' : 'Outdated agents'}
          hint={
            view?.hosts.next_cursor == null
              ? 'agents that are too new or too old buffer their data on disk'
              : 'the first 1,000'
          }
          flush
          testId="agent-hosts"
          actions={
            <SegmentedControl
              aria-label="Hosts shown"
              value={show ?? 'outdated'}
              onChange={(value) =>
                void navigate({
                  search: (before) => ({ ...before, show: value === 'all' ? 'all' : undefined }),
                  replace: true,
                  resetScroll: false,
                })
              }
              data={[
                { value: 'outdated', label: 'Outdated' },
                { value: 'all', label: 'All' },
              ]}
            />
          }
        >
          <AgentHostsTable hosts={view?.hosts.items} all={show === 'all'} now={now} />
        </Panel>
        <PausesPanel pauses={pauses.data} load={loadStateOf(pauses)} />
      </Stack>
    </div>
  )
}
