import { askedQuery } from '../base/ask'

/** What lists can be narrowed by. */
export function tagsQuery() {
  return askedQuery('/v1/tags', {}, { staleTime: 60_000 })
}
