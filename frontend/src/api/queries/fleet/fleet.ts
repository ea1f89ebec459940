import { client } from '../../client'
import { rangeQuery, type TimeRange } from '../base/range'
import { askedQuery, kept, polledQuery, rangedQuery } from '../base/ask'

/** The whole installation over a time range. */
export function fleetQuery(range: TimeRange) {
  return rangedQuery(['fleet', range.from, range.to], range, (signal) =>
    client.GET('/v1/fleet', { params: { query: rangeQuery(range) }, signal }),
  )
}

/** Every host in a short row, now or at a moment; a fleet of more hosts than can be drawn by its groups. */
export function fleetGridQuery(refreshMs: number | null, at?: string, group = 'service') {
  return askedQuery(
    ['fleet-grid', at, group],
    (signal) => client.GET('/v1/fleet/grid', { params: { query: { ...atQuery(at), group } }, signal }),
    { ...kept, ...atMoment(refreshMs, at) },
  )
}

/** How far each host is from its peers, now or at a moment. */
export function fleetDriftQuery(refreshMs: number | null, at?: string) {
  return askedQuery(
    ['fleet-drift', at],
    (signal) => client.GET('/v1/fleet/drift', { params: { query: atQuery(at) }, signal }),
    { ...kept, ...atMoment(refreshMs, at) },
  )
}

function atQuery(at: string | undefined): { at?: string } {
  return at === undefined ? {} : { at }
}

/** What is of a moment of the past is not asked for again. */
function atMoment(
  refreshMs: number | null,
  at: string | undefined,
): { refetchInterval: number | false; staleTime: number } {
  return {
    refetchInterval: at === undefined ? (refreshMs ?? false) : false,
    staleTime: at === undefined ? 15_000 : 600_000,
  }
}

/** DRAM of the fleet that holds cold memory, and what it costs a year, now. */
export function reclaimableQuery(refreshMs: number | null) {
  return polledQuery(['reclaimable'], refreshMs, (signal) => client.GET('/v1/tco/reclaimable', { signal }))
}
