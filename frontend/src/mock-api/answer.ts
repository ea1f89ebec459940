import type { paths } from '../api/_generated/schema'

const files = import.meta.glob<unknown>('./answers/**/*.json', { eager: true, import: 'default' })

interface Recorded {
  segments: string[]
  query: [string, string][]
  body: unknown
}

/**
 * Answers by the address that they answer: `_` is any id, `index` the folder itself, and what follows `@` are parameters
 * of the query. `{id}` and `{name}` in an answer are that id and that parameter of the request.
 */
const answers = Object.entries(files).map(([file, body]): Recorded => {
  const [path = '', query] = file.slice('./answers/'.length, -'.json'.length).split('@')
  return { segments: path.replace(/\/index$/, '').split('/'), query: [...new URLSearchParams(query)], body }
})

/** How well an answer fits an address: undefined where it is that of another one. */
function fitOf({ segments, query }: Recorded, asked: string[], params: URLSearchParams): number | undefined {
  const fits =
    segments.length === asked.length &&
    segments.every((segment, index) => segment === '_' || segment === asked[index]) &&
    query.every(([name, value]) => params.getAll(name).includes(value))
  return fits ? 100 * segments.filter((segment) => segment !== '_').length + query.length : undefined
}

/** The answer to an address below `/v1`, as a copy; undefined where none is recorded. */
function find(path: string, params: URLSearchParams): { body: unknown; query: [string, string][] } | undefined {
  const asked = path.split('/').slice(2)
  const best = answers
    .map((recorded) => ({ recorded, fit: fitOf(recorded, asked, params) }))
    .filter(({ fit }) => fit !== undefined)
    .sort((one, other) => (other.fit ?? 0) - (one.fit ?? 0))[0]?.recorded
  if (best === undefined) return undefined
  const named: Record<string, string | undefined> = {
    id: asked[best.segments.indexOf('_')],
    ...Object.fromEntries(params),
  }
  const text = JSON.stringify(best.body).replaceAll(/\{(\w+)\}/g, (braces, name: string) => named[name] ?? braces)
  return { body: JSON.parse(text), query: best.query }
}

type Row = Record<string, unknown>

/** Whether a row of a list has what a parameter asks for; parameters that name no field do not matter. */
function matches(row: Row, name: string, value: string): boolean {
  if (name === 'q') {
    const text = JSON.stringify(row).toLowerCase()
    return value
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word))
  }
  if (name === 'enrolled_since') return String(row['enrolled_at']) >= value
  const among = row[`${name}s`]
  if (Array.isArray(among)) return among.includes(value)
  return typeof row[name] !== 'string' || row[name] === value
}

function filtered(list: { items: Row[] }, params: URLSearchParams, known: [string, string][]) {
  const asked = [...params].filter(([name]) => !known.some(([own]) => own === name))
  const items = list.items.filter((row) => asked.every(([name, value]) => matches(row, name, value)))
  const matching = 'matching' in list ? { matching: items.length } : {}
  return { ...list, ...matching, items: items.slice(0, Number(params.get('limit') ?? 1000)) }
}

type Json<O> = O extends { responses: infer R }
  ? {
      [S in keyof R]: S extends 200 | 201 | 202
        ? R[S] extends { content: { 'application/json': infer A } }
          ? A
          : never
        : never
    }[keyof R]
  : never

/** What the service answers at a path of the contract: to a GET where it takes one, else to a POST. */
export type Answer<P extends keyof paths> = paths[P] extends { get: infer O } ? Json<O> : Json<paths[P]['post']>

/** A recorded answer: `id` stands for what is in braces in the path, `query` picks among several. */
export function recorded<P extends keyof paths>(path: P, id = 'h-1', query = ''): Answer<P> {
  const found = find(path.replaceAll(/\{[^}]+\}/g, id), new URLSearchParams(query))
  if (found === undefined) throw new Error(`no answer is recorded for ${path} of ${id}`)
  return found.body as Answer<P>
}

/** Tiles in their binary form: the length of the header, the header, and the cells row by row. */
export function tilesBody(id: string): ArrayBuffer {
  const { cells, ...header } = recorded('/v1/services/{service_id}/tiles', id)
  const text = new TextEncoder().encode(JSON.stringify({ ...header, cells: [] }))
  const bytes = cells.flat()
  const body = new Uint8Array(4 + text.length + bytes.length)
  new DataView(body.buffer).setUint32(0, text.length, true)
  body.set(text, 4)
  body.set(bytes, 4 + text.length)
  return body.buffer
}

/** The mock API: the recorded answer to a request for this URL; 404 where there is none. */
export function answer(url: string): Response {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  if (pathname.endsWith('/tiles')) return new Response(tilesBody(pathname.split('/')[3] ?? ''))
  if (pathname === '/v1/reports/preview') return new Response('<p>All is well.</p>')
  const found = find(pathname, searchParams)
  if (found !== undefined) {
    const { body, query } = found
    const list = body as { items: Row[] } | null
    return Response.json(Array.isArray(list?.items) ? filtered(list, searchParams, query) : body)
  }
  const [noun, id] = pathname.split('/').slice(2)
  return problem(404, `There is no ${noun?.replace(/s$/, '')} ${id}.`, 'Check the link, or search with Ctrl K.')
}

/** An answer in problem+json. */
export function problem(status: number, detail: string, next_step: string): Response {
  const body = {
    type: 'https://tierscope.dev/problems/example',
    title: 'It failed',
    status,
    detail,
    next_step,
    instance: null,
  }
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/problem+json' } })
}
