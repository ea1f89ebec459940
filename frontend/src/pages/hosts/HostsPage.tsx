import type { ReactNode } from 'react'
import { Button, SegmentedControl, Select, TextInput } from '@mantine/core'
import { IconFilter } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { HostSummary, HostsAway } from '../../api/_generated/schema'
import { hostsQuery } from '../../api/queries/fleet/hosts'
import { servicesQuery } from '../../api/queries/fleet/services'
import { loadStateOf } from '../../api/queries/base/loadState'
import { causesOf, causeText, hasCause, writeCause } from '../../lib/fleet/causes'
import { awayWords, hostsCounted } from '../../lib/fleet/hostsAway'
import { readHosts, type HostsSearch } from '../../lib/url/urlState'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { useListSearch } from '../shell/useListSearch'
import { useTimeRange } from '../shell/time/useTimeRange'
import { LabelsUpload } from './labels/LabelsUpload'
import { HostsTable } from './HostsTable'

const route = getRouteApi('/hosts')

function sentenceOf(all: HostSummary[], away: HostsAway | undefined): string {
  const hosts = all.filter(({ state }) => state !== 'retired')
  const count = (state: string) => hosts.filter((host) => host.state === state).length
  const quiet = [`${count('late')} late`, `${count('silent')} silent`].filter((part) => !part.startsWith('0'))
  const reporting = `${count('reporting')} of ${hosts.length} ${hostsCounted(away)} report`
  const parts = [reporting, quiet.length === 0 ? 'none is late or silent' : quiet.join(', '), awayWords(away)]
  return `${parts.filter((part) => part !== null).join('; ')}.`
}

function matches(host: HostSummary, words: string): boolean {
  const labels = Object.entries(host.labels).map(([key, value]) => `${key}=${value}`)
  const text = [host.name, host.kernel, ...host.tiers, ...host.services, ...labels].join(' ').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** The causes that any host has, and the one chosen, as choices. */
function choicesOf(hosts: HostSummary[], chosen: string | undefined): { value: string; label: string }[] {
  const causes = hosts.flatMap(causesOf)
  const named = new Map(causes.map((cause) => [writeCause(cause), causeText({ ...cause, cause: null }).label]))
  if (chosen !== undefined && !named.has(chosen)) named.set(chosen, chosen)
  return [...named].map(([value, label]) => ({ value, label })).sort((a, b) => a.label.localeCompare(b.label))
}

/** All hosts, the worst first. */
export function HostsPage(): ReactNode {
  const { range } = useTimeRange()
  const { q, sort, state, setQ, setSort, setState } = useListSearch('/hosts', '-trouble')
  const { hosts, service, cause } = route.useSearch()
  const chosen = readHosts(hosts)
  const navigate = route.useNavigate()
  const services = useQuery(servicesQuery(range.refreshMs))
  const narrow = (next: Pick<HostsSearch, 'hosts' | 'service' | 'cause'>) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  const query = useQuery(hostsQuery(range.refreshMs))
  const load = loadStateOf(query)
  const all = query.data?.items
  const shown = all?.filter(
    (host) =>
      matches(host, q) &&
      (chosen === null || chosen.has(host.id)) &&
      (state === undefined || host.state === state) &&
      (service === undefined || host.services.includes(service)) &&
      (cause === undefined || hasCause(host, cause)),
  )
  if (load.problem !== null && all === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <div data-testid="page-hosts">
      <Headline
        kicker={<h1>Hosts</h1>}
        sentence={all === undefined ? undefined : sentenceOf(all, query.data?.away)}
        aside={
          <>
            <LabelsUpload />
            {chosen !== null && (
              <Button variant="default" size="xs" onClick={() => narrow({ hosts: undefined })}>
                Show all, not only {chosen.size} chosen
              </Button>
            )}
            <SegmentedControl
              aria-label="State"
              value={state ?? 'all'}
              onChange={(value) => setState(value === 'all' ? null : value)}
              data={['all', 'reporting', 'late', 'silent']}
            />
            <Select
              aria-label="Cause of trouble"
              placeholder="any cause"
              clearable
              w={170}
              value={cause ?? null}
              onChange={(value) => narrow({ cause: value ?? undefined })}
              data={choicesOf(all ?? [], cause)}
            />
            <Select
              aria-label="Service"
              placeholder="any service"
              clearable
              searchable
              w={150}
              value={service ?? null}
              onChange={(value) => narrow({ service: value ?? undefined })}
              data={(services.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            />
            <TextInput
              aria-label="Filter hosts"
              placeholder="Name, label=value, tier, kernel"
              leftSection={<IconFilter size={14} />}
              value={q}
              onChange={(event) => setQ(event.currentTarget.value)}
              w={220}
            />
          </>
        }
      />
      <Panel title="Hosts" hint={shown === undefined ? undefined : `${shown.length} shown`} flush>
        <HostsTable hosts={shown} sort={sort} onSort={setSort} />
      </Panel>
    </div>
  )
}
