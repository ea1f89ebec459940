import { Link, useRouterState } from '@tanstack/react-router'
import { useSession } from '../shell/access/useSession'
import { tokenPlaceholder } from './installSteps'
import classes from './AddHosts.module.css'

/** Why no token can be made here: a login or a permission is needed, and how to make one without. */
export function TokenRefusal({ what, command }: { what: string; command: string }) {
  const { session } = useSession()
  const here = useRouterState({ select: (state) => state.location.href })
  if (session === undefined) return null
  return (
    <div className={classes.refusal} data-testid="token-refusal">
      {session.kind === 'session' ? (
        <p>
          Creating {what} needs the role admin; you are {session.role}. Ask an administrator for one.
        </p>
      ) : (
        <p>
          Creating {what} needs a login as an administrator.{' '}
          <Link to="/login" search={{ next: here }}>
            Log in to create one
          </Link>
          .
        </p>
      )}
      <p>
        Or make one on the machine that runs the service with <code>{command}</code>, and write it for{' '}
        <code>{tokenPlaceholder}</code> in the commands below.
      </p>
    </div>
  )
}
