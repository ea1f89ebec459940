import type { QueryClient } from '@tanstack/react-query'
import type { TeamRequest } from '../../_generated/schema'
import { askedQuery, changing, send } from '../base/ask'

/** All teams by name, with members and services. Administrators alone may see them. */
export function teamsQuery() {
  return askedQuery('/v1/teams', {}, { retry: false })
}

const stale: Parameters<typeof changing>[0] = [
  '/v1/teams',
  '/v1/users',
  '/v1/services',
  '/v1/services/{service_id}',
  '/v1/session',
]

/** Make a team (no id), or give one its name, members and services. Throws ApiProblem. */
export const saveTeam = changing(stale, ({ id, ...body }: TeamRequest & { id: string | null }) =>
  id === null ? send('post', '/v1/teams', {}, body) : send('put', '/v1/teams/{team_id}', { team_id: id }, body),
)

/** Remove a team. Throws ApiProblem. */
export const deleteTeam = changing(stale, (id: string) => send('delete', '/v1/teams/{team_id}', { team_id: id }))

/** Give a service to a team, or to nobody (null). Throws ApiProblem. */
export const setOwner = (queries: QueryClient, serviceId: string) =>
  changing(stale, (teamId: string | null) =>
    send('put', '/v1/services/{service_id}/owner', { service_id: serviceId }, { team_id: teamId }),
  )(queries)
