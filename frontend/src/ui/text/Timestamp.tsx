import { Tooltip } from '@mantine/core'
import { formatAgo, formatLocal, formatUtc, zoneName } from '../../lib/units/time'

interface TimestampProps {
  /** RFC 3339; null where it never happened. */
  at: string | null
  /** Read as an age (`3 min ago`) seen from this moment. */
  now?: Date
}

/** A moment in the viewer's zone, or its age; UTC is on hover. */
export function Timestamp({ at, now }: TimestampProps) {
  if (at === null) return <span>never</span>
  const date = new Date(at)
  const local = `${formatLocal(date)} ${zoneName(date)}`
  return (
    <Tooltip label={`${local} · ${formatUtc(date)}`}>
      <time dateTime={at}>{now === undefined ? local : formatAgo(date, now)}</time>
    </Tooltip>
  )
}
