import { useQuery } from '@tanstack/react-query'
import type { Session } from '../../../api/_generated/schema'
import { sessionQuery } from '../../../api/queries/access/session'
import type { PermissionName } from '../../../lib/access/permissions'

/** Who is asking, and what they may do; nothing is allowed while that is not known. */
export function useSession(): { session: Session | undefined; may: (permission: PermissionName) => boolean } {
  const { data } = useQuery(sessionQuery())
  return { session: data, may: (permission) => data?.permissions.includes(permission) ?? false }
}
