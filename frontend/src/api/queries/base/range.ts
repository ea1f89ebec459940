import { defaultFrom, liveRefreshMs } from '../../../lib/url/timeRange'

/** The time range of a query as the API takes it; `refreshMs` is null when the view does not move with the clock. */
export interface TimeRange {
  from: string
  to: string | undefined
  refreshMs: number | null
}

interface TimeSearch {
  from?: string | undefined
  to?: string | undefined
  live?: 'off' | undefined
  kiosk?: number | undefined
}

/** The range that an address asks for: live while it has no end and nobody stopped it. */
export function rangeOf({ from, to, live, kiosk }: TimeSearch): TimeRange {
  // Nobody stands at a kiosk to switch live on.
  const isLive = to === undefined && (live !== 'off' || kiosk !== undefined)
  return { from: from ?? defaultFrom, to, refreshMs: isLive ? liveRefreshMs : null }
}

/** The parameters of a range; left-out ones take the API's default, which is now. */
export function rangeQuery(range: TimeRange): { from: string; to?: string } {
  return range.to === undefined ? { from: range.from } : { from: range.from, to: range.to }
}

/** The options that every query over a range shares: old data stays on screen while the new one loads. */
export function refreshing(range: TimeRange): { refetchInterval: number | false; staleTime: number } {
  return {
    refetchInterval: range.refreshMs ?? false,
    staleTime: range.refreshMs === null ? 60_000 : range.refreshMs / 2,
  }
}
