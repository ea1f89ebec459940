import type { QueryClient } from '@tanstack/react-query'
import type { TimeRange } from '../api/queries/base/range'
import { fleetGridQuery, fleetQuery, reclaimableQuery } from '../api/queries/fleet/fleet'
import { hostQuery } from '../api/queries/fleet/hosts'
import { serviceQuery } from '../api/queries/fleet/services'
import { heatQuery, listedHosts } from '../api/queries/heat/heat'
import { hostPressureQuery } from '../api/queries/ledger/counters'
import { hostLedgerQuery } from '../api/queries/ledger/tierMoves'
import { loadPlotly } from '../charts/Plot'
import type { ServiceSearch } from '../lib/url/urlState'

// What the first screen of a page shows is asked for, and what draws it loaded, while the page's own code arrives. Its own
// queries are the same ones, and tell what fails.

function loadCharts(): void {
  loadPlotly().catch(() => undefined)
}

export function askForFleet(client: QueryClient, range: TimeRange, at: string | undefined, group?: string): void {
  void client.prefetchQuery(fleetGridQuery(range.refreshMs, at, group))
  void client.prefetchQuery(fleetQuery(range))
  void client.prefetchQuery(reclaimableQuery(range.refreshMs))
  loadCharts()
}

type ServiceView = Pick<ServiceSearch, 'tab' | 'scheme' | 'threshold'>

export function askForService(client: QueryClient, serviceId: string, range: TimeRange, view: ServiceView): void {
  void client.prefetchQuery(serviceQuery(serviceId, range))
  if ((view.tab ?? 'overview') === 'overview') {
    const { scheme = 'recency', threshold } = view
    void client.prefetchQuery(heatQuery(serviceId, { scheme, threshold, max_hosts: listedHosts }, range))
  }
  loadCharts()
}

export function askForHost(client: QueryClient, hostId: string, range: TimeRange, tab: string | undefined): void {
  void client.prefetchQuery(hostQuery(hostId, range.refreshMs))
  if ((tab ?? 'overview') === 'overview') {
    void client.prefetchQuery(hostLedgerQuery(hostId, range))
    void client.prefetchQuery(hostPressureQuery(hostId, range))
  }
  loadCharts()
}
