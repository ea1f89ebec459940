import type { ReactNode } from 'react'
import { Button, SegmentedControl, Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconFilter } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { HostCounts, HostSummary, HostsAway } from '../../api/_generated/schema'
import { fleetQuery } from '../../api/queries/fleet/fleet'
import { hostPagesQuery, type HostSort } from '../../api/queries/fleet/hosts'
import { servicesQuery } from '../../api/queries/fleet/services'
import { loadStateOf } from '../../api/queries/base/loadState'
import { causesOf, causeText, isCause, writeCause, type NamedCause } from '../../lib/fleet/causes'
import { awayWords, hostsCounted } from '../../lib/fleet/hostsAway'
import { readHosts, type HostsSearch } from '../../lib/url/urlState'
import { formatCount } from '../../lib/units/units'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { useListSearch } from '../shell/useListSearch'
import { useTimeRange } from '../shell/time/useTimeRange'
import { LabelsUpload } from './labels/LabelsUpload'
import { HostsTable } from './HostsTable'
import classes from './HostsPage.module.css'
import { TextField } from '../../ui/inputs/fields'

const route = getRouteApi('/hosts')

function sentenceOf(fleet: HostCounts, away: HostsAway | undefined): string {
  const quiet = (['late', 'silent'] as const)
    .filter((state) => fleet[state] > 0)
    .map((state) => `${formatCount(fleet[state])} ${state}`)
  const inService = formatCount(fleet.hosts - fleet.retired)
  const reporting = `${formatCount(fleet.reporting)} of ${inService} ${hostsCounted(away)} report`
  const parts = [reporting, quiet.length === 0 ? 'none is late or silent' : quiet.join(', '), awayWords(away)]
  return `${parts.filter((part) => part !== null).join('; ')}.`
}

/** The causes that hosts of the fleet, and of those listed any, have, and the one chosen, as choices. */
function choicesOf(
  hosts: HostSummary[],
  fleet: NamedCause[],
  chosen: string | undefined,
): { value: string; label: string }[] {
  const causes = [...fleet, ...hosts.flatMap(causesOf)]
  const named = new Map(causes.map((cause) => [writeCause(cause), causeText({ ...cause, cause: null }).label]))
  if (chosen !== undefined && !named.has(chosen)) named.set(chosen, chosen)
  return [...named].map(([value, label]) => ({ value, label })).sort((a, b) => a.label.localeCompare(b.label))
}

function hintOf(shown: number | undefined, matching: number | undefined): string | undefined {
  if (shown === undefined || matching === undefined) return undefined
  return shown < matching ? `${formatCount(shown)} of ${formatCount(matching)} shown` : `${formatCount(shown)} shown`
}

/** All hosts, the worst first, page by page. */
export function HostsPage(): ReactNode {
  const { range } = useTimeRange()
  const { q, sort, state, setQ, setSort, setState } = useListSearch('/hosts', '-trouble')
  const { hosts, service, cause } = route.useSearch()
  const chosen = readHosts(hosts)
  const navigate = route.useNavigate()
  const services = useQuery(servicesQuery(range.refreshMs))
  const narrow = (next: Pick<HostsSearch, 'hosts' | 'service' | 'cause'>) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  const [words] = useDebouncedValue(q, 200)
  const query = useInfiniteQuery(
    hostPagesQuery(
      {
        q: words.trim() === '' ? undefined : words,
        state: state as HostSummary['state'] | undefined,
        service,
        cause: cause !== undefined && isCause(cause) ? cause : undefined,
        host: chosen === null ? undefined : [...chosen],
        sort: sort.replace(/^-/, '') as HostSort,
        order: sort.startsWith('-') ? 'descending' : 'ascending',
      },
      range.refreshMs,
    ),
  )
  const overview = useQuery(fleetQuery(range))
  const load = loadStateOf(query)
  const newest = query.data?.pages.at(-1)
  // A host that moved to a later page between two reads is in both.
  const shown = query.data && [
    ...new Map(query.data.pages.flatMap((page) => page.items).map((host) => [host.id, host])).values(),
  ]
  if (load.problem !== null && shown === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <div data-testid="page-hosts">
      <Headline
        kicker={
          <>
            <h1>Hosts</h1>
            <span>now</span>
          </>
        }
        asideBelow
        sentence={newest === undefined ? undefined : sentenceOf(newest.fleet, newest.away)}
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
              allowDeselect
              aria-label="Cause of trouble"
              placeholder="any cause"
              clearable
              w={170}
              value={cause ?? null}
              onChange={(value) => narrow({ cause: value ?? undefined })}
              data={choicesOf(shown ?? [], overview.data?.causes ?? [], cause)}
            />
            <Select
              allowDeselect
              aria-label="Service"
              placeholder="any service"
              clearable
              searchable
              w={150}
              value={service ?? null}
              onChange={(value) => narrow({ service: value ?? undefined })}
              data={(services.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            />
            <TextField
              aria-label="Filter hosts"
              placeholder="Name, label=value, tier, kernel"
              leftSection={<IconFilter size={14} />}
              value={q}
              onText={setQ}
              w={220}
            />
          </>
        }
      />
      <Panel title="Hosts" hint={hintOf(shown?.length, newest?.matching)} flush>
        <HostsTable hosts={shown} sort={sort} onSort={setSort} />
        {query.hasNextPage && (
          <div className={classes.more}>
            <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show more hosts
            </Button>
          </div>
        )}
      </Panel>
    </div>
  )
}
