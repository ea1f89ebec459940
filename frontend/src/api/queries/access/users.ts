import type { UserRequest, UserUpdate } from '../../_generated/schema'
import { askedQuery, changing, send } from '../base/ask'

/** All users by name. Administrators alone may see them. */
export function usersQuery() {
  return askedQuery('/v1/users', {}, { retry: false })
}

/** Make a local user. Throws ApiProblem. */
export const createUser = changing(['/v1/users', '/v1/teams'], (body: UserRequest) =>
  send('post', '/v1/users', {}, body),
)

/** Change, disable or enable a user. Throws ApiProblem. */
export const updateUser = changing(['/v1/users', '/v1/teams'], ({ id, ...body }: UserUpdate & { id: string }) =>
  send('put', '/v1/users/{user_id}', { user_id: id }, body),
)

/** Remove a user. Throws ApiProblem. */
export const deleteUser = changing(['/v1/users', '/v1/teams'], (id: string) =>
  send('delete', '/v1/users/{user_id}', { user_id: id }),
)

/** Make a one-time link that sets a user's password. Throws ApiProblem. */
export const createPasswordLink = changing([], (id: string) =>
  send('post', '/v1/users/{user_id}/password-link', { user_id: id }),
)
