import type { QueryClient } from '@tanstack/react-query'
import type { AlertRoutesRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { askedQuery, kept } from '../base/ask'

/** Where alerts are sent. Operators and administrators may read it. */
export function alertRoutesQuery() {
  return askedQuery(['alert-routes'], (signal) => client.GET('/v1/alert-routes', { signal }), { staleTime: 15_000 })
}

/** Put another configuration in its place; refused when somebody else changed it meanwhile. Throws ApiProblem. */
export function replaceAlertRoutes(queries: QueryClient) {
  return {
    mutationFn: (request: AlertRoutesRequest) => dataOf(client.PUT('/v1/alert-routes', { body: request })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['alert-routes'] }),
  }
}

/** Send a made-up alert to a receiver. Throws ApiProblem. */
export function testReceiver(queries: QueryClient) {
  return {
    mutationFn: (receiver: string) => dataOf(client.POST('/v1/alert-routes/test', { body: { receiver } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['notifications'] }),
  }
}

/** The newest notifications: what was sent, what waits, what was given up. */
export function notificationsQuery(filter: { alert?: string | undefined }, refreshMs: number | null) {
  return askedQuery(
    ['notifications', filter],
    (signal) => client.GET('/v1/notifications', { params: { query: { ...filter, limit: 100 } }, signal }),
    { ...kept, refetchInterval: refreshMs ?? false, staleTime: 10_000 },
  )
}

/** Try a notification again that was given up. Throws ApiProblem. */
export function retryNotification(queries: QueryClient) {
  return {
    mutationFn: (notificationId: string) =>
      dataOf(
        client.POST('/v1/notifications/{notification_id}/retry', {
          params: { path: { notification_id: notificationId } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['notifications'] }),
  }
}
