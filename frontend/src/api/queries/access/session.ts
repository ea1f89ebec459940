import type { QueryClient } from '@tanstack/react-query'
import type { LinkLogin, PasswordLogin, Session } from '../../_generated/schema'
import { keepSessionKey } from '../../sessionKey'
import { askedQuery, send } from '../base/ask'

/** Who is asking, and what they may do. Asked again every minute, so that a session's end is seen. */
export function sessionQuery() {
  return askedQuery('/v1/session', {}, { refetchInterval: 60_000, staleTime: 30_000 })
}

/** How people log in here. */
export function loginMethodsQuery() {
  return askedQuery('/v1/login/methods', {}, { staleTime: Infinity })
}

/** Log in. All that was read before is read anew, because it may have been somebody else's. Throws ApiProblem. */
export function logIn(queries: QueryClient) {
  return {
    mutationFn: (body: LinkLogin | PasswordLogin) => send('post', '/v1/session', {}, body),
    onSuccess: ({ session_key }: Session) => {
      keepSessionKey(session_key)
      return queries.resetQueries()
    },
  }
}

/** Log out. Throws ApiProblem. */
export function logOut(queries: QueryClient) {
  return {
    mutationFn: () => send('delete', '/v1/session', {}),
    onSuccess: () => {
      keepSessionKey(null)
      return queries.resetQueries()
    },
  }
}
