import type { ReactNode } from 'react'
import { IconFilter } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/base/loadState'
import { servicesQuery } from '../../api/queries/fleet/services'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { useTimeRange } from '../shell/time/useTimeRange'
import { useListSearch } from '../shell/useListSearch'
import { ServicesTable } from './ServicesTable'
import { TextField } from '../../ui/inputs/fields'

export function ServicesPage(): ReactNode {
  const { range } = useTimeRange()
  const { q, sort, setQ, setSort } = useListSearch('/services', '-gain')
  const query = useQuery(servicesQuery(range.refreshMs))
  const load = loadStateOf(query)
  const all = query.data?.items
  const shown = all?.filter((service) => `${service.namespace}/${service.name}`.toLowerCase().includes(q.toLowerCase()))
  const measured = all?.filter((service) => service.n_hosts_with_heat > 0).length
  if (load.problem !== null && all === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <div data-testid="page-services">
      <Headline
        kicker={
          <>
            <h1>Services</h1>
            <span>now</span>
          </>
        }
        sentence={
          all === undefined ? undefined : `${all.length} services; heat is measured on ${measured ?? 0} of them.`
        }
        aside={
          <TextField
            aria-label="Filter services"
            placeholder="Filter by name"
            leftSection={<IconFilter size={14} />}
            value={q}
            onText={setQ}
          />
        }
      />
      <Panel
        title="Services"
        hint={
          query.data?.truncated === true
            ? 'the first 10,000'
            : shown === undefined
              ? undefined
              : `${shown.length} shown`
        }
        flush
      >
        <ServicesTable services={shown} sort={sort} onSort={setSort} />
      </Panel>
    </div>
  )
}
