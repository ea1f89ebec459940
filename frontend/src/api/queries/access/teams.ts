import type { QueryClient } from '@tanstack/react-query'
import type { TeamRequest } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { askedQuery } from '../base/ask'

/** All teams by name, with members and services. Administrators alone may see them. */
export function teamsQuery() {
  return askedQuery(['teams'], (signal) => client.GET('/v1/teams', { signal }), { retry: false })
}

const changed = (queries: QueryClient) => async () => {
  for (const key of ['teams', 'users', 'services', 'service', 'session']) {
    await queries.invalidateQueries({ queryKey: [key] })
  }
}

/** Make a team (no id), or give one its name, members and services. Throws ApiProblem. */
export function saveTeam(queries: QueryClient) {
  return {
    mutationFn: ({ id, ...body }: TeamRequest & { id: string | null }) =>
      id === null
        ? dataOf(client.POST('/v1/teams', { body }))
        : dataOf(client.PUT('/v1/teams/{team_id}', { params: { path: { team_id: id } }, body })),
    onSuccess: changed(queries),
  }
}

/** Remove a team. Throws ApiProblem. */
export function deleteTeam(queries: QueryClient) {
  return {
    mutationFn: (id: string) => doneBy(client.DELETE('/v1/teams/{team_id}', { params: { path: { team_id: id } } })),
    onSuccess: changed(queries),
  }
}

/** Give a service to a team, or to nobody (null). Throws ApiProblem. */
export function setOwner(queries: QueryClient, serviceId: string) {
  return {
    mutationFn: (teamId: string | null) =>
      dataOf(
        client.PUT('/v1/services/{service_id}/owner', {
          params: { path: { service_id: serviceId } },
          body: { team_id: teamId },
        }),
      ),
    onSuccess: changed(queries),
  }
}
