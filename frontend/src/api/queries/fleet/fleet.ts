import type { TimeRange } from '../base/range'
import { askedQuery, kept, polled, rangedQuery } from '../base/ask'

/** The whole installation over a time range. */
export function fleetQuery(range: TimeRange) {
  return rangedQuery('/v1/fleet', {}, range)
}

/** Every host in a short row, now or at a moment; a fleet of more hosts than can be drawn by its groups. */
export function fleetGridQuery(refreshMs: number | null, at?: string, group = 'service') {
  return askedQuery('/v1/fleet/grid', { at, group }, { ...kept, ...atMoment(refreshMs, at) })
}

/** How far each host is from its peers, now or at a moment. */
export function fleetDriftQuery(refreshMs: number | null, at?: string) {
  return askedQuery('/v1/fleet/drift', { at }, { ...kept, ...atMoment(refreshMs, at) })
}

/** What is of a moment of the past is not asked for again. */
function atMoment(refreshMs: number | null, at: string | undefined) {
  return at === undefined ? polled(refreshMs) : ({ refetchInterval: false, staleTime: 600_000 } as const)
}

/** DRAM of the fleet that holds cold memory, and what it costs a year, now. */
export function reclaimableQuery(refreshMs: number | null) {
  return askedQuery('/v1/tco/reclaimable', {}, polled(refreshMs))
}
