import { IconServerOff } from '@tabler/icons-react'
import type { InstallationStatus } from '../../api/_generated/schema'
import { formatLocal, zoneName } from '../../lib/units/time'
import classes from './access/LoginNotice.module.css'

/** Says over the page that some database nodes are away, so that what is shown leaves out their hosts. */
export function NodesBanner({ status }: { status: InstallationStatus | undefined }) {
  const nodes = status?.components.find((component) => component.name === 'nodes')
  if (nodes === undefined || nodes.status === 'healthy') return null
  const since = nodes.since === null ? null : new Date(nodes.since)
  return (
    <div className={classes.notice} role="alert" data-testid="nodes-banner">
      <IconServerOff size={15} aria-hidden />
      <span>
        <strong>Figures leave out hosts:</strong> {nodes.detail}
        {since === null ? '.' : ` since ${formatLocal(since)} ${zoneName(since)}.`}
      </span>
    </div>
  )
}
