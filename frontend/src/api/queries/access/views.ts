import type { ViewRequest } from '../../_generated/schema'
import { changing, listQuery, send } from '../base/ask'

/** The viewer's own saved views and those that are shared, newest first. At most 2,000 are read. */
export function viewsQuery() {
  return listQuery('/v1/views', {}, { staleTime: 30_000 }, 2)
}

/** Save a view, or change the one with this id. Throws ApiProblem. */
export const saveView = changing(['/v1/views'], ({ id, ...body }: ViewRequest & { id: string | null }) =>
  id === null ? send('post', '/v1/views', {}, body) : send('put', '/v1/views/{view_id}', { view_id: id }, body),
)

/** Delete a saved view. Throws ApiProblem. */
export const deleteView = changing(['/v1/views'], (id: string) =>
  send('delete', '/v1/views/{view_id}', { view_id: id }),
)
