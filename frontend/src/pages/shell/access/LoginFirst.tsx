import { Link, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PermissionName } from '../../../lib/access/permissions'
import { useSession } from './useSession'

/** What somebody may do; who is not logged in and may not is led to the login before a form opens. */
export function LoginFirst({
  may: permission,
  to,
  byRole = false,
  children,
}: {
  may: PermissionName
  to: string
  /** Nobody owns what it is about: a role alone gives it. */
  byRole?: boolean
  children: ReactNode
}) {
  const { session, may } = useSession()
  const here = useRouterState({ select: (state) => state.location.href })
  // Somebody who is logged in may own the subject, which gives more than a role: the answer tells.
  if (session === undefined || may(permission) || (session.kind === 'session' && !byRole)) return children
  if (session.kind === 'session') return <span data-testid="role-first">Your role may not {to}</span>
  return (
    <Link to="/login" search={{ next: here }} data-testid="login-first">
      Log in to {to}
    </Link>
  )
}
