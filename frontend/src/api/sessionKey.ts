import type { Middleware } from 'openapi-fetch'

/**
 * Without TLS a session has a key beside its cookie, which browsers send to every port of the host: the service tells it
 * once, when the session begins, and wants it with each request. Storage is of this port alone.
 */
const header = 'X-Session-Key'
const storageKey = 'tierscope-session-key'
const inAddress = '#session-key='

let unstored: string | null = null

function keptKey(): string | null {
  try {
    return window.localStorage.getItem(storageKey) ?? unstored
  } catch {
    return unstored
  }
}

/** Keeps the key of the session that begins; null where it has none, or ends. */
export function keepSessionKey(key: string | null): void {
  unstored = null
  try {
    if (key === null) window.localStorage.removeItem(storageKey)
    else window.localStorage.setItem(storageKey, key)
  } catch {
    // Storage is switched off or full: the session lasts as long as this page.
    unstored = key
  }
}

/**
 * Takes the key out of the address to which one-time links and the provider lead. One that the service does not know, as
 * of a link that somebody else made, replaces none.
 */
export async function takeSessionKey(): Promise<void> {
  const { hash, origin, pathname, search } = window.location
  if (!hash.startsWith(inAddress)) return
  const key = hash.slice(inAddress.length)
  window.history.replaceState(null, '', pathname + search)
  try {
    const answer = await globalThis.fetch(new Request(new URL('/v1/session', origin), { headers: { [header]: key } }))
    const session: unknown = answer.ok ? await answer.json() : null
    const isOurs = typeof session === 'object' && session !== null && 'kind' in session && session.kind === 'session'
    if (isOurs) keepSessionKey(key)
  } catch {
    // The page says itself that the service does not answer, or that nobody is logged in.
  }
}

/** Sends the session's key with every request. */
export const sessionKey: Middleware = {
  onRequest({ request }) {
    const key = keptKey()
    if (key === null) return undefined
    request.headers.set(header, key)
    return request
  },
}
