import { IconProgress } from '@tabler/icons-react'
import type { InstallationStatus } from '../../api/_generated/schema'
import { formatDuration } from '../../lib/units/time'
import classes from './access/LoginNotice.module.css'

/** Says over the page how far workers are with data that came at once, so that what is missing is awaited. */
export function ProgressBanner({ status }: { status: InstallationStatus | undefined }) {
  const progress = status?.catching_up ?? null
  if (progress === null) return null
  const { span_seconds: span, done_ratio: done, seconds_left: left } = progress
  const days = Math.round(span / 86_400)
  const rest = left === null ? '' : left < 60 ? ', less than a minute' : `, about ${formatDuration(left)}`
  return (
    <div className={classes.notice} role="status" data-testid="progress-banner">
      <IconProgress size={15} aria-hidden />
      <span>
        <strong>
          Catching up on {days < 2 ? formatDuration(Math.round(span / 3600) * 3600) : `${days} days`}:{' '}
          {Math.floor(done * 100)} %{rest}.
        </strong>{' '}
        Figures are of what is worked up so far.
      </span>
    </div>
  )
}
