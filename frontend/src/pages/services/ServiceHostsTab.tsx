import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { ServiceDetail } from '../../api/_generated/schema'
import { heatQuery } from '../../api/queries/heat/heat'
import { hostsQuery } from '../../api/queries/fleet/hosts'
import { servicePodsQuery } from '../../api/queries/fleet/pods'
import { loadStateOf } from '../../api/queries/base/loadState'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { formatCount } from '../../lib/units/units'
import { HostsTable } from '../hosts/HostsTable'
import { PodsTable } from '../hosts/PodsTable'
import { PurgePanel } from '../purges/PurgePanel'
import { useTimeRange } from '../shell/time/useTimeRange'
import { Stack } from '../../ui/layout/Stack'
import { ServiceHostsTable } from './ServiceHostsTable'

const route = getRouteApi('/services/$serviceId')

/** All hosts of the service, those that measure its heat, and its pods. */
export function ServiceHostsTab({ serviceId, service }: { serviceId: string; service: ServiceDetail | undefined }) {
  const { scheme = 'recency', threshold } = route.useSearch()
  const { range } = useTimeRange()
  const [sort, setSort] = useState('name')
  const hosts = useQuery(hostsQuery(range.refreshMs, serviceId))
  const heat = useQuery(heatQuery(serviceId, { scheme, threshold }, range))
  const pods = useQuery(servicePodsQuery(serviceId, range.refreshMs))
  const load = loadStateOf(hosts)
  const heatLoad = loadStateOf(heat)
  if (load.problem !== null && hosts.data === undefined)
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <Stack>
      <Panel title="Hosts that measure heat" flush>
        {heatLoad.problem !== null && heat.data === undefined ? (
          <ProblemState problem={heatLoad.problem} onRetry={heatLoad.retry} />
        ) : (
          <ServiceHostsTable hosts={heat.data?.hosts} />
        )}
      </Panel>
      <Panel
        title="All hosts of this service"
        hint={
          hosts.data === undefined
            ? undefined
            : hosts.data.truncated
              ? `${formatCount(hosts.data.items.length)} of ${formatCount(hosts.data.matching)}, by name`
              : `${hosts.data.items.length}`
        }
        flush
      >
        <HostsTable hosts={hosts.data?.items} sort={sort} onSort={setSort} />
      </Panel>
      <Panel
        title="Pods of this service"
        hint={pods.data === undefined ? undefined : `${pods.data.items.length}`}
        testId="service-pods"
        flush
      >
        <PodsTable of="service" pods={pods.data?.items} load={loadStateOf(pods)} />
      </Panel>
      {service !== undefined && (
        <PurgePanel
          subject={{ kind: 'service', id: serviceId }}
          name={`${service.summary.namespace}/${service.summary.name}`}
          consequence="all its data is deleted permanently; where it still runs, it is discovered again as a new service"
        />
      )}
    </Stack>
  )
}
