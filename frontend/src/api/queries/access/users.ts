import type { QueryClient } from '@tanstack/react-query'
import type { UserRequest, UserUpdate } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { askedQuery } from '../base/ask'

/** All users by name. Administrators alone may see them. */
export function usersQuery() {
  return askedQuery(['users'], (signal) => client.GET('/v1/users', { signal }), { retry: false })
}

const changed = (queries: QueryClient) => async () => {
  await queries.invalidateQueries({ queryKey: ['users'] })
  await queries.invalidateQueries({ queryKey: ['teams'] })
}

/** Make a local user. Throws ApiProblem. */
export function createUser(queries: QueryClient) {
  return {
    mutationFn: (body: UserRequest) => dataOf(client.POST('/v1/users', { body })),
    onSuccess: changed(queries),
  }
}

/** Change, disable or enable a user. Throws ApiProblem. */
export function updateUser(queries: QueryClient) {
  return {
    mutationFn: ({ id, ...body }: UserUpdate & { id: string }) =>
      dataOf(client.PUT('/v1/users/{user_id}', { params: { path: { user_id: id } }, body })),
    onSuccess: changed(queries),
  }
}

/** Remove a user. Throws ApiProblem. */
export function deleteUser(queries: QueryClient) {
  return {
    mutationFn: (id: string) => doneBy(client.DELETE('/v1/users/{user_id}', { params: { path: { user_id: id } } })),
    onSuccess: changed(queries),
  }
}

/** Make a one-time link that sets a user's password. Throws ApiProblem. */
export function createPasswordLink() {
  return {
    mutationFn: (id: string) =>
      dataOf(client.POST('/v1/users/{user_id}/password-link', { params: { path: { user_id: id } } })),
  }
}
