import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** The whole installation over a time range. */
export function fleetQuery(range: TimeRange) {
  return queryOptions({
    queryKey: ['fleet', range.from, range.to],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/fleet', { params: { query: rangeQuery(range) }, signal })),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}

/** Every host in a short row, now. */
export function fleetGridQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['fleet-grid'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/fleet/grid', { signal })),
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}

/** DRAM of the fleet that holds cold memory, and what it costs a year, now. */
export function reclaimableQuery(refreshMs: number | null) {
  return queryOptions({
    queryKey: ['reclaimable'],
    queryFn: ({ signal }) => dataOf(client.GET('/v1/tco/reclaimable', { signal })),
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}
