import type { QueryClient } from '@tanstack/react-query'
import type { JoinTokenRequest, NewTokenRequest } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { askedQuery } from '../base/ask'

/** All tokens without their secrets, newest first. Administrators alone may see them. */
export function tokensQuery() {
  return askedQuery(['tokens'], (signal) => client.GET('/v1/tokens', { signal }), { retry: false })
}

const changed = (queries: QueryClient) => () => queries.invalidateQueries({ queryKey: ['tokens'] })

/** Make an API token of a role; the answer alone holds its secret. Throws ApiProblem. */
export function createToken(queries: QueryClient) {
  return {
    mutationFn: (body: NewTokenRequest) => dataOf(client.POST('/v1/tokens', { body })),
    onSuccess: changed(queries),
  }
}

/** Make a join token for hosts; the answer alone holds its secret. Throws ApiProblem. */
export function createJoinToken(queries: QueryClient) {
  return {
    mutationFn: (body: JoinTokenRequest) => dataOf(client.POST('/v1/agents/join-tokens', { body })),
    onSuccess: changed(queries),
  }
}

/** Revoke a token. Throws ApiProblem. */
export function revokeToken(queries: QueryClient) {
  return {
    mutationFn: (tokenId: string) =>
      doneBy(client.DELETE('/v1/tokens/{token_id}', { params: { path: { token_id: tokenId } } })),
    onSuccess: changed(queries),
  }
}
