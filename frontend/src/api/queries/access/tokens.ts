import type { JoinTokenRequest, NewTokenRequest } from '../../_generated/schema'
import { askedQuery, changing, send } from '../base/ask'

/** All tokens without their secrets, newest first. Administrators alone may see them. */
export function tokensQuery() {
  return askedQuery('/v1/tokens', {}, { retry: false })
}

/** Make an API token of a role; the answer alone holds its secret. Throws ApiProblem. */
export const createToken = changing(['/v1/tokens'], (body: NewTokenRequest) => send('post', '/v1/tokens', {}, body))

/** Make a join token for hosts; the answer alone holds its secret. Throws ApiProblem. */
export const createJoinToken = changing(['/v1/tokens'], (body: JoinTokenRequest) =>
  send('post', '/v1/agents/join-tokens', {}, body),
)

/** Revoke a token. Throws ApiProblem. */
export const revokeToken = changing(['/v1/tokens'], (id: string) =>
  send('delete', '/v1/tokens/{token_id}', { token_id: id }),
)
