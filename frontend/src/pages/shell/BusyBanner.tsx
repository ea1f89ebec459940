import { IconHourglass } from '@tabler/icons-react'
import { useIsFetching } from '@tanstack/react-query'
import { isToldToWait } from '../../api/queryClient'
import classes from './access/LoginNotice.module.css'

/** Says over the page that parts of it wait for a turn, and that they come by themselves. */
export function BusyBanner() {
  const waiting = useIsFetching({ predicate: isToldToWait })
  if (waiting === 0) return null
  const parts =
    waiting === 1
      ? 'One part of this page waits for its turn and comes by itself.'
      : `${waiting} parts of this page wait for their turn and come by themselves.`
  return (
    <div className={classes.notice} role="status" data-testid="busy-banner">
      <IconHourglass size={15} aria-hidden />
      <span>
        <strong>Many people read at once.</strong> {parts}
      </span>
    </div>
  )
}
