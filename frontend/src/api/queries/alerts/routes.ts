import type { AlertRoutesRequest } from '../../_generated/schema'
import { askedQuery, changing, kept, polled, send } from '../base/ask'

/** Where alerts are sent. Operators and administrators may read it. */
export function alertRoutesQuery() {
  return askedQuery('/v1/alert-routes', {}, { staleTime: 15_000 })
}

/** Put another configuration in its place; refused when somebody else changed it meanwhile. Throws ApiProblem. */
export const replaceAlertRoutes = changing(['/v1/alert-routes'], (request: AlertRoutesRequest) =>
  send('put', '/v1/alert-routes', {}, request),
)

/** Send a made-up alert to a receiver. Throws ApiProblem. */
export const testReceiver = changing(['/v1/notifications'], (receiver: string) =>
  send('post', '/v1/alert-routes/test', {}, { receiver }),
)

/** The newest notifications: what was sent, what waits, what was given up. */
export function notificationsQuery(filter: { alert?: string | undefined }, refreshMs: number | null) {
  const options = { ...kept, ...polled(refreshMs), staleTime: 10_000 }
  return askedQuery('/v1/notifications', { ...filter, limit: 100 }, options)
}

/** Try a notification again that was given up. Throws ApiProblem. */
export const retryNotification = changing(['/v1/notifications'], (id: string) =>
  send('post', '/v1/notifications/{notification_id}/retry', { notification_id: id }),
)
