import { Link, useRouterState } from '@tanstack/react-router'
import { IconLock } from '@tabler/icons-react'
import classes from './LoginNotice.module.css'

/** Says over the page that a login is needed, and leads to it and back. */
export function LoginNotice({ ended }: { ended: boolean }) {
  const here = useRouterState({ select: (state) => state.location.href })
  return (
    <div className={classes.notice} role="alert" data-testid="login-notice">
      <IconLock size={15} aria-hidden />
      <span>
        {ended ? 'Your session has ended. Log in again to load or change anything.' : 'This service requires a login.'}{' '}
        <Link to="/login" search={{ next: here }}>
          {ended ? 'Log in again' : 'Log in'}
        </Link>
      </span>
    </div>
  )
}
