import { queryOptions, type QueryClient } from '@tanstack/react-query'
import { client, dataOf, doneBy } from '../../client'
import { readAll } from '../base/pages'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'
import { askedQuery, kept, rangedQuery } from '../base/ask'

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
  return queryOptions({
    queryKey: ['alerts', state, filter],
    queryFn: ({ signal }) =>
      readAll(
        (cursor) =>
          dataOf(client.GET('/v1/alerts', { params: { query: { ...filter, state, limit: 1000, cursor } }, signal })),
        2,
      ),
    ...kept,
    refetchInterval: refreshMs ?? false,
    staleTime: 10_000,
  })
}

/** One alert with its history and the values behind it. */
export function alertQuery(alertId: string, refreshMs: number | null) {
  return askedQuery(
    ['alert', alertId],
    (signal) => client.GET('/v1/alerts/{alert_id}', { params: { path: { alert_id: alertId } }, signal }),
    { refetchInterval: refreshMs ?? false, staleTime: 10_000 },
  )
}

/** The time around an alert on one axis, its onset and cause, and whom it touched. */
export function incidentQuery(alertId: string, refreshMs: number | null) {
  return askedQuery(
    ['incident', alertId],
    (signal) => client.GET('/v1/alerts/{alert_id}/incident', { params: { path: { alert_id: alertId } }, signal }),
    { refetchInterval: refreshMs ?? false, staleTime: 10_000 },
  )
}

/** Why a host is slow: what the kernel did and what it did to services, on one axis. */
export function hostTriageQuery(hostId: string, range: TimeRange) {
  return rangedQuery(['host-triage', hostId, range.from, range.to], range, (signal) =>
    client.GET('/v1/hosts/{host_id}/triage', {
      params: { path: { host_id: hostId }, query: rangeQuery(range) },
      signal,
    }),
  )
}

/** When which alert was in which state. */
export function alertTimelineQuery(filter: AlertFilter, range: TimeRange) {
  return rangedQuery(['alert-timeline', filter, range.from, range.to], range, (signal) =>
    client.GET('/v1/alerts/timeline', { params: { query: { ...filter, ...rangeQuery(range) } }, signal }),
  )
}

/** When alerts of a host, or of a service and its hosts, fired and were resolved. */
export function alertMarksQuery(subject: { host: string } | { service: string } | null, range: TimeRange) {
  return askedQuery(
    ['alert-marks', subject, range.from, range.to],
    (signal) => client.GET('/v1/alerts/marks', { params: { query: { ...subject, ...rangeQuery(range) } }, signal }),
    { enabled: subject !== null, ...kept, ...refreshing(range) },
  )
}

/** Say that one looks after an alert (a note), or take that back (null). Throws ApiProblem. */
export function acknowledgeAlert(queries: QueryClient, alertId: string) {
  const params = { path: { alert_id: alertId } }
  return {
    mutationFn: (note: string | null) =>
      note === null
        ? doneBy(client.DELETE('/v1/alerts/{alert_id}/acknowledge', { params }))
        : doneBy(client.POST('/v1/alerts/{alert_id}/acknowledge', { params, body: { note } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['alerts'] })
      await queries.invalidateQueries({ queryKey: ['alert', alertId] })
    },
  }
}
