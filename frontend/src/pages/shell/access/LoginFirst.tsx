import { Link, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PermissionName } from '../../../lib/access/permissions'
import { useSession } from './useSession'

/** What somebody may do; who is not logged in and may not is led to the login before a form opens. */
export function LoginFirst({
  may: permission,
  to,
  children,
}: {
  may: PermissionName
  to: string
  children: ReactNode
}) {
  const { session, may } = useSession()
  const here = useRouterState({ select: (state) => state.location.href })
  // Somebody who is logged in may own the subject, which gives more than a role: the answer tells.
  if (session === undefined || session.kind === 'session' || may(permission)) return children
  return (
    <Link to="/login" search={{ next: here }} data-testid="login-first">
      Log in to {to}
    </Link>
  )
}
