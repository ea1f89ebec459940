import type { Middleware } from 'openapi-fetch'

const reads = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Sends the session's CSRF token with every write. The token is asked for before each write, because the session may
 * have begun or ended in another window. Without a session there is none, and the service says what is needed.
 */
export const csrf: Middleware = {
  async onRequest({ request }) {
    if (reads.has(request.method)) return undefined
    const { headers } = request
    const answer = await globalThis.fetch(new Request(new URL('/v1/session', request.url), { headers }))
    if (!answer.ok) return undefined
    const session: unknown = await answer.json()
    if (typeof session === 'object' && session !== null && 'csrf_token' in session) {
      const token = session.csrf_token
      if (typeof token === 'string') request.headers.set('X-CSRF-Token', token)
    }
    return request
  },
}
