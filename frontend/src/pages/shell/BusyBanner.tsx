import { IconHourglass } from '@tabler/icons-react'
import { useIsFetching } from '@tanstack/react-query'
import { isToldToWait } from '../../api/queryClient'
import classes from './access/LoginNotice.module.css'

/** Says over the page that parts of it wait for a turn, and that they come by themselves. */
export function BusyBanner() {
  const waiting = useIsFetching({ predicate: isToldToWait })
  if (waiting === 0) return null
  const parts = waiting === 1 ? 'One part of this page waits' : `${waiting} parts of this page wait`
  return (
    <div className={classes.notice} role="status" data-testid="busy-banner">
      <IconHourglass size={15} aria-hidden />
      <span>
        <strong>Many people read at once.</strong> {parts} and will be loaded by themselves, when the service said.
      </span>
    </div>
  )
}
