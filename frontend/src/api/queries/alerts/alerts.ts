import type { QueryClient } from '@tanstack/react-query'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'
import { askedQuery, changing, kept, listQuery, polled, rangedQuery, send } from '../base/ask'

/** What a list or timeline of alerts is narrowed to. Ids are public ones. */
export interface AlertFilter {
  severity?: 'info' | 'warning' | 'critical' | undefined
  host?: string | undefined
  service?: string | undefined
  rule?: string | undefined
}

type State = 'open' | 'pending' | 'firing' | 'resolved' | 'no_data'

/** Alerts in a state, `open` for all that are not resolved; at most 2,000 are read. */
export function alertsQuery(state: State, filter: AlertFilter, refreshMs: number | null) {
  return listQuery('/v1/alerts', { ...filter, state }, { ...kept, ...polled(refreshMs), staleTime: 10_000 }, 2)
}

/** One alert with its history and the values behind it. */
export function alertQuery(alertId: string, refreshMs: number | null) {
  return askedQuery('/v1/alerts/{alert_id}', { alert_id: alertId }, { ...polled(refreshMs), staleTime: 10_000 })
}

/** The time around an alert on one axis, its onset and cause, and whom it touched. */
export function incidentQuery(alertId: string, refreshMs: number | null) {
  const options = { ...polled(refreshMs), staleTime: 10_000 }
  return askedQuery('/v1/alerts/{alert_id}/incident', { alert_id: alertId }, options)
}

/** Why a host is slow: what the kernel did and what it did to services, on one axis. */
export function hostTriageQuery(hostId: string, range: TimeRange) {
  return rangedQuery('/v1/hosts/{host_id}/triage', { host_id: hostId }, range)
}

/** When which alert was in which state. */
export function alertTimelineQuery(filter: AlertFilter, range: TimeRange) {
  return rangedQuery('/v1/alerts/timeline', { ...filter }, range)
}

/** When alerts of a host, or of a service and its hosts, fired and were resolved. */
export function alertMarksQuery(subject: { host: string } | { service: string } | null, range: TimeRange) {
  const options = { enabled: subject !== null, ...kept, ...refreshing(range) }
  return askedQuery('/v1/alerts/marks', { ...subject, ...rangeQuery(range) }, options)
}

/** Say that one looks after an alert (a note), or take that back (null). Throws ApiProblem. */
export const acknowledgeAlert = (queries: QueryClient, alertId: string) =>
  changing(['/v1/alerts', ['/v1/alerts/{alert_id}', { alert_id: alertId }]], (note: string | null) =>
    note === null
      ? send('delete', '/v1/alerts/{alert_id}/acknowledge', { alert_id: alertId })
      : send('post', '/v1/alerts/{alert_id}/acknowledge', { alert_id: alertId }, { note }),
  )(queries)
