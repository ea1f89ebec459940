import {
  keepPreviousData,
  queryOptions,
  type QueryClient,
  type UndefinedInitialDataOptions,
} from '@tanstack/react-query'
import type { paths } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { readAll, type ListPage, type WholeList } from './pages'
import { rangeQuery, refreshing, type TimeRange } from './range'

type Method = 'get' | 'post' | 'put' | 'delete'
type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { parameters: unknown }> ? P : never
}[keyof paths]
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never
type Part<T> = [T] extends [undefined] ? unknown : NonNullable<T>
type ParamsOf<O> = O extends { parameters: { path?: infer Path; query?: infer Query } }
  ? Part<Path> & Part<Query>
  : never
type BodyOf<O> = O extends { requestBody: { content: { 'application/json': infer Body } } } ? Body : undefined
type Success<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never
type JsonOf<O> = Success<O> extends { content: { 'application/json': infer Json } } ? Json : undefined

type GetPath = PathWith<'get'>
type Params<P extends GetPath> = ParamsOf<Operation<P, 'get'>>
/** What an address answers as JSON. */
export type Json<P extends GetPath> = JsonOf<Operation<P, 'get'>>
type Item<P extends GetPath> = Json<P> extends { items: (infer I)[] } ? I : never
type Key = readonly [address: string, params: object]
type Options<T, K extends readonly unknown[]> = Omit<
  UndefinedInitialDataOptions<T, Error, T, K>,
  'queryKey' | 'queryFn'
>

/** The old data stays on screen while the new one loads. */
export const kept = { placeholderData: keepPreviousData }

/** Parameters as the client takes them: those that the address names apart from the others. */
function apart(path: string, params: object) {
  const parts: Record<'path' | 'query', Record<string, unknown>> = { path: {}, query: {} }
  for (const [name, value] of Object.entries(params)) parts[path.includes(`{${name}}`) ? 'path' : 'query'][name] = value
  return parts
}

/** What an address answers. Throws ApiProblem. */
export function ask<P extends GetPath>(path: P, params: Params<P>, signal: AbortSignal): Promise<Json<P>> {
  return dataOf(client.GET(path, { params: apart(path, params as object), signal } as never)) as Promise<Json<P>>
}

/** Ask for a change. Throws ApiProblem. */
export function send<M extends Exclude<Method, 'get'>, P extends PathWith<M>>(
  method: M,
  path: P,
  params: ParamsOf<Operation<P, M>>,
  body?: BodyOf<Operation<P, M>>,
  signal?: AbortSignal,
) {
  const init = { params: apart(path, params as object), body, signal }
  const request = client.request(method, path as never, init as never)
  return doneBy(request) as Promise<JsonOf<Operation<P, M>>>
}

/** A query of one request, which is its key. */
export function askedQuery<P extends GetPath>(path: P, params: Params<P>, options?: Options<Json<P>, Key>) {
  const queryKey: Key = [path, params as object]
  return queryOptions({ queryKey, queryFn: ({ signal }) => ask(path, params, signal), ...options })
}

/** A query over a range of time, whose old data stays on screen while the new one loads. */
export function rangedQuery<P extends GetPath>(path: P, params: Omit<Params<P>, 'from' | 'to'>, range: TimeRange) {
  const all = { ...params, ...rangeQuery(range) } as unknown as Params<P>
  return askedQuery(path, all, { ...kept, ...refreshing(range) })
}

/** The options of what is so now, asked again every `refreshMs`; null asks once. */
export function polled(refreshMs: number | null) {
  return { refetchInterval: refreshMs ?? false, staleTime: 15_000 } as const
}

/** A list read to its end, or to `maximumPages` pages. */
export function listQuery<P extends GetPath>(
  path: P,
  params: Params<P>,
  options: Options<WholeList<Item<P>>, readonly [P, Params<P>, 'all']>,
  maximumPages?: number,
) {
  const queryKey: readonly [P, Params<P>, 'all'] = [path, params, 'all']
  const readPage = (cursor: string | undefined, signal: AbortSignal) =>
    ask(path, { limit: 1000, ...params, cursor } as Params<P>, signal) as unknown as Promise<ListPage<Item<P>>>
  const queryFn = ({ signal }: { signal: AbortSignal }) => readAll((cursor) => readPage(cursor, signal), maximumPages)
  return queryOptions({ queryKey, queryFn, ...options })
}

/** A change, after which the answers of these addresses are asked for anew; where params stand beside one, theirs. */
export function changing<V, T>(
  stale: readonly (keyof paths | readonly [keyof paths, object])[],
  change: (values: V) => Promise<T>,
) {
  return (queries: QueryClient) => ({
    mutationFn: change,
    onSuccess: async () => {
      for (const key of stale) await queries.invalidateQueries({ queryKey: typeof key === 'string' ? [key] : key })
    },
  })
}
