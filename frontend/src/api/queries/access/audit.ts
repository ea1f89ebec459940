import { infiniteQueryOptions } from '@tanstack/react-query'
import { ask, kept } from '../base/ask'

/** What the audit trail is narrowed to. */
export interface AuditFilter {
  actor?: string | undefined
  action?: string | undefined
  subject?: string | undefined
}

/** Changes, newest first, in pages of 100. */
export function auditQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ['/v1/audit', filter],
    queryFn: ({ signal, pageParam }) => ask('/v1/audit', { ...filter, limit: 100, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    ...kept,
    retry: false,
  })
}
