import { hashKey, type QueryKey } from '@tanstack/react-query'
import type { Middleware } from 'openapi-fetch'
import type { paths } from './_generated/schema'

type QueryOf<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } }
  ? NonNullable<Q>
  : never
type Narrowed<P extends keyof paths> = [QueryOf<P>] extends [never] ? never : 'tag' extends keyof QueryOf<P> ? P : never

/** Lists that tags narrow: all that take them. */
const lists: Record<{ [P in keyof paths]: Narrowed<P> }[keyof paths], true> = {
  '/v1/advice': true,
  '/v1/alerts': true,
  '/v1/alerts/timeline': true,
  '/v1/capacity': true,
  '/v1/fleet': true,
  '/v1/fleet/grid': true,
  '/v1/hosts': true,
  '/v1/services': true,
}

let chosen: readonly string[] = []

/** Narrows every list from the next question on; the router says by what, before a page loads. */
export function narrowBy(tags: readonly string[]): void {
  chosen = tags
}

/** What answers are kept by: narrowed lists apart from whole ones. */
export function narrowedHash(key: QueryKey): string {
  return hashKey(chosen.length === 0 ? key : [...key, { tags: chosen }])
}

export const narrowing: Middleware = {
  onRequest({ request, schemaPath }) {
    if (request.method !== 'GET' || chosen.length === 0 || !(schemaPath in lists)) return undefined
    const url = new URL(request.url)
    for (const tag of chosen) url.searchParams.append('tag', tag)
    return new Request(url, request)
  },
}
