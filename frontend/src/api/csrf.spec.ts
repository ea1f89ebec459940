import { expect, it, vi } from 'vitest'
import createClient from 'openapi-fetch'
import { csrf } from './csrf'

interface Paths {
  '/v1/things': { get: Operation; post: Operation }
}
interface Operation {
  responses: { 200: { content: { 'application/json': unknown } } }
}

/** The requests that reach the service when its session answers `session`. */
async function sent(method: 'GET' | 'POST', session: Response): Promise<Request[]> {
  const requests: Request[] = []
  const answer = (request: Request) => {
    requests.push(request)
    return Promise.resolve(request.url.endsWith('/v1/session') ? session : Response.json({}))
  }
  vi.stubGlobal('fetch', answer)
  const client = createClient<Paths>({ baseUrl: 'http://localhost', fetch: answer })
  client.use(csrf)
  await (method === 'GET' ? client.GET('/v1/things') : client.POST('/v1/things'))
  return requests
}

it('sends the token of the session with writes alone', async () => {
  const [, write] = await sent('POST', Response.json({ csrf_token: 'abc' }))
  expect(write?.headers.get('X-CSRF-Token')).toBe('abc')
  expect(await sent('GET', Response.json({ csrf_token: 'abc' }))).toHaveLength(1)
})

it('sends none where there is no session, so that the service can say what is needed', async () => {
  const [, anonymous] = await sent('POST', Response.json({ csrf_token: null }))
  expect(anonymous?.headers.has('X-CSRF-Token')).toBe(false)
  const [, broken] = await sent('POST', new Response('', { status: 503 }))
  expect(broken?.headers.has('X-CSRF-Token')).toBe(false)
})
