import { IconPlugConnectedX } from '@tabler/icons-react'
import { formatClock } from '../../lib/units/time'
import { Prose } from '../../ui/text/Prose'
import classes from './access/LoginNotice.module.css'
import { useConnection } from './useConnection'

/** Says over the page that nothing new arrives, why, and of when what is shown is. */
export function ConnectionBanner() {
  const connection = useConnection()
  if (connection.kind === 'connected') return null
  const { at } = connection
  const shown = at === null ? 'Nothing has been loaded yet.' : `Showing data of ${formatClock(at)}.`
  return (
    <div className={classes.notice} role="alert" data-testid="connection-banner">
      <IconPlugConnectedX size={15} aria-hidden />
      {connection.kind === 'offline' ? (
        <span>
          <strong>Offline.</strong> {shown} It goes on by itself when the network is back.
        </span>
      ) : (
        <span>
          <strong>The service does not answer:</strong> <Prose text={connection.problem.title} />; retrying. {shown}
        </span>
      )}
    </div>
  )
}
