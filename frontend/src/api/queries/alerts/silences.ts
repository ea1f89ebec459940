import type { SilenceRequest } from '../../_generated/schema'
import { changing, kept, listQuery, polled, send } from '../base/ask'

/** Silences, newest first; at most 1,000 are read. */
export function silencesQuery(refreshMs: number | null) {
  return listQuery('/v1/silences', {}, { ...kept, ...polled(refreshMs), staleTime: 10_000 }, 1)
}

const stale: Parameters<typeof changing>[0] = ['/v1/silences', '/v1/alerts', '/v1/alerts/{alert_id}']

/** Hold back notifications of matching alerts for a time. Throws ApiProblem. */
export const createSilence = changing(stale, (request: SilenceRequest) => send('post', '/v1/silences', {}, request))

/** End a silence now. Throws ApiProblem. */
export const expireSilence = changing(stale, (id: string) =>
  send('post', '/v1/silences/{silence_id}/expire', { silence_id: id }),
)
