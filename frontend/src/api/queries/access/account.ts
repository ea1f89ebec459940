import type { QueryClient } from '@tanstack/react-query'
import type { OwnTokenRequest, PasswordChange, Session } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { askedQuery } from '../base/ask'
import { keepSessionKey } from '../../sessionKey'

/** The account that is logged in. */
export function accountQuery() {
  return askedQuery(['account'], (signal) => client.GET('/v1/me', { signal }))
}

/** The tokens of the account, newest first. */
export function ownTokensQuery() {
  return askedQuery(['own-tokens'], (signal) => client.GET('/v1/me/tokens', { signal }))
}

/** Set another password. Throws ApiProblem. */
export function changePassword(queries: QueryClient) {
  return {
    mutationFn: (body: PasswordChange) => dataOf(client.PUT('/v1/me/password', { body })),
    onSuccess: ({ session_key }: Session) => {
      keepSessionKey(session_key)
      return queries.invalidateQueries({ queryKey: ['session'] })
    },
  }
}

/** Make a token of one's own; the answer alone holds its secret. Throws ApiProblem. */
export function createOwnToken(queries: QueryClient) {
  return {
    mutationFn: (body: OwnTokenRequest) => dataOf(client.POST('/v1/me/tokens', { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['own-tokens'] }),
  }
}

/** Revoke a token of one's own. Throws ApiProblem. */
export function revokeOwnToken(queries: QueryClient) {
  return {
    mutationFn: (tokenId: string) =>
      doneBy(client.DELETE('/v1/me/tokens/{token_id}', { params: { path: { token_id: tokenId } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['own-tokens'] }),
  }
}
