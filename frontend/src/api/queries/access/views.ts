import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { ViewRequest } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { readAll } from '../base/pages'

/** The viewer's own saved views and those that are shared, newest first. At most 2,000 are read. */
export function viewsQuery() {
  return queryOptions({
    queryKey: ['views'],
    queryFn: ({ signal }) =>
      readAll(
        (cursor) =>
          dataOf(client.GET('/v1/views', { params: { query: { limit: 1000, cursor: cursor ?? null } }, signal })),
        2,
      ),
    staleTime: 30_000,
  })
}

const changed = (queries: QueryClient) => () => queries.invalidateQueries({ queryKey: ['views'] })

/** Save a view, or change the one with this id. Throws ApiProblem. */
export function saveView(queries: QueryClient) {
  return {
    mutationFn: ({ id, ...body }: ViewRequest & { id: string | null }) =>
      id === null
        ? dataOf(client.POST('/v1/views', { body }))
        : dataOf(client.PUT('/v1/views/{view_id}', { params: { path: { view_id: id } }, body })),
    onSuccess: changed(queries),
  }
}

/** Delete a saved view. Throws ApiProblem. */
export function deleteView(queries: QueryClient) {
  return {
    mutationFn: (viewId: string) =>
      doneBy(client.DELETE('/v1/views/{view_id}', { params: { path: { view_id: viewId } } })),
    onSuccess: changed(queries),
  }
}
