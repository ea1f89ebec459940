import type { QueryClient } from '@tanstack/react-query'
import type { TimeRange } from '../../api/queries/base/range'
import { fleetGridQuery, fleetQuery, reclaimableQuery } from '../../api/queries/fleet/fleet'
import { loadPlotly } from '../../charts/Plot'

/** Asks for what the first screen of the fleet page shows, and for what draws it. */
export function askForFleet(client: QueryClient, range: TimeRange, at: string | undefined, group?: string): void {
  void client.prefetchQuery(fleetGridQuery(range.refreshMs, at, group))
  void client.prefetchQuery(fleetQuery(range))
  void client.prefetchQuery(reclaimableQuery(range.refreshMs))
  loadPlotly().catch(() => undefined)
}
