import { client } from '../../client'
import { askedQuery } from '../base/ask'

/** What lists can be narrowed by. */
export function tagsQuery() {
  return askedQuery(['tags'], (signal) => client.GET('/v1/tags', { signal }), { staleTime: 60_000 })
}
