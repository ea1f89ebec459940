import type { QueryClient } from '@tanstack/react-query'
import type { OwnTokenRequest, PasswordChange, Session } from '../../_generated/schema'
import { askedQuery, changing, send } from '../base/ask'
import { keepSessionKey } from '../../sessionKey'

/** The account that is logged in. */
export function accountQuery() {
  return askedQuery('/v1/me', {})
}

/** The tokens of the account, newest first. */
export function ownTokensQuery() {
  return askedQuery('/v1/me/tokens', {})
}

/** Set another password. Throws ApiProblem. */
export function changePassword(queries: QueryClient) {
  return {
    mutationFn: (body: PasswordChange) => send('put', '/v1/me/password', {}, body),
    onSuccess: ({ session_key }: Session) => {
      keepSessionKey(session_key)
      return queries.invalidateQueries({ queryKey: ['/v1/session'] })
    },
  }
}

/** Make a token of one's own; the answer alone holds its secret. Throws ApiProblem. */
export const createOwnToken = changing(['/v1/me/tokens'], (body: OwnTokenRequest) =>
  send('post', '/v1/me/tokens', {}, body),
)

/** Revoke a token of one's own. Throws ApiProblem. */
export const revokeOwnToken = changing(['/v1/me/tokens'], (id: string) =>
  send('delete', '/v1/me/tokens/{token_id}', { token_id: id }),
)
