import { Tooltip } from '@mantine/core'
import { IconBellOff, IconEye, IconLink } from '@tabler/icons-react'
import type { Alert } from '../../api/_generated/schema'
import { OriginMark } from '../../ui/provenance/OriginMark'
import classes from './AlertsPage.module.css'

/** What is noted on an alert: somebody looks after it, it is silenced or inhibited, its data is simulated. */
export function AlertMarksOf({ alert }: { alert: Alert }) {
  const { acknowledged } = alert
  return (
    <span className={classes.marks}>
      {acknowledged !== null && (
        <Tooltip
          label={
            acknowledged.note === ''
              ? `Acknowledged by ${acknowledged.by}.`
              : `${acknowledged.by}: ${acknowledged.note}`
          }
        >
          <span className={classes.mark} tabIndex={0}>
            <IconEye size={13} aria-hidden /> {acknowledged.by}
          </span>
        </Tooltip>
      )}
      {alert.silenced_by.length > 0 && (
        <Tooltip label="A silence suppresses its notifications.">
          <span className={classes.mark} tabIndex={0}>
            <IconBellOff size={13} aria-hidden /> silenced
          </span>
        </Tooltip>
      )}
      {alert.inhibited_by.length > 0 && (
        <Tooltip label="Its notifications are suppressed while another alert fires.">
          <span className={classes.mark} tabIndex={0}>
            <IconLink size={13} aria-hidden /> inhibited
          </span>
        </Tooltip>
      )}
      <OriginMark origin={alert.origin} />
    </span>
  )
}
