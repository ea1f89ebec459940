import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { client } from './client'
import { keepSessionKey, takeSessionKey } from './sessionKey'

let requests: Request[] = []

/** Answers every request; the session is of whoever sends this key. */
function serve(known: string): void {
  vi.stubGlobal('fetch', (request: Request) => {
    requests.push(request)
    const kind = request.headers.get('X-Session-Key') === known ? 'session' : 'nobody'
    return Promise.resolve(Response.json({ kind, csrf_token: kind === 'session' ? 'abc' : null }))
  })
}

const keys = () => requests.map(({ headers }) => headers.get('X-Session-Key'))

beforeEach(() => {
  requests = []
  window.localStorage.clear()
})

afterEach(() => {
  vi.unstubAllGlobals()
  keepSessionKey(null)
})

it('goes with every request, and with the question for the token of a write', async () => {
  serve('k1')
  await client.GET('/v1/session')
  keepSessionKey('k1')
  await client.GET('/v1/session')
  await client.DELETE('/v1/session')
  expect(keys()).toEqual([null, 'k1', 'k1', 'k1'])
  expect(requests.at(-1)?.headers.get('X-CSRF-Token')).toBe('abc')
  keepSessionKey(null)
  await client.GET('/v1/session')
  expect(keys().at(-1)).toBeNull()
})

it('is taken out of the address, unless the service does not know it', async () => {
  serve('k2')
  window.history.replaceState(null, '', '/hosts?from=-1h#session-key=k2')
  await takeSessionKey()
  expect(window.location.href.replace(window.location.origin, '')).toBe('/hosts?from=-1h')
  window.history.replaceState(null, '', '/#session-key=planted')
  await takeSessionKey()
  expect(window.location.hash).toBe('')
  await client.GET('/v1/session')
  expect(keys()).toEqual(['k2', 'planted', 'k2'])
})

it('lasts as long as the page where the browser stores nothing', async () => {
  serve('k3')
  vi.stubGlobal('localStorage', undefined)
  keepSessionKey('k3')
  await client.GET('/v1/session')
  expect(keys()).toEqual(['k3'])
})
