import { UnstyledButton } from '@mantine/core'
import { IconClockExclamation } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { fleetGridQuery } from '../../../api/queries/fleet/fleet'
import { awayWords, hostsCounted } from '../../../lib/fleet/hostsAway'
import { formatAgo, formatLocal, zoneName } from '../../../lib/units/time'
import { formatCount } from '../../../lib/units/units'
import { liveRefreshMs } from '../../../lib/url/timeRange'
import { useNow } from '../time/useNow'
import classes from './KioskBar.module.css'

/** Answers older than this many refreshes are stale. */
const staleRefreshes = 4

/** The line over a kiosk: of when its data are, and whether they have stopped. */
export function KioskBar({ onLeave }: { onLeave: () => void }) {
  const query = useQuery(fleetGridQuery(liveRefreshMs))
  const now = useNow(5_000)
  const hosts = query.data?.hosts_total ?? 0
  const reporting = query.data?.hosts_reporting ?? 0
  const away = awayWords(query.data?.away)
  const at = query.data === undefined ? null : new Date(query.dataUpdatedAt)
  const isOld = at !== null && now.getTime() - at.getTime() > staleRefreshes * liveRefreshMs
  const stale = isOld
    ? `Stale: last answer ${formatAgo(at, now)}`
    : hosts > 0 && reporting === 0
      ? 'Stale: no host reports'
      : null
  return (
    <div className={classes.bar} data-testid="kiosk-bar">
      <strong>Tierscope</strong>
      <span>{at === null ? 'Loading data' : `Data of ${formatLocal(at)} ${zoneName(at)}`}</span>
      {stale === null ? (
        hosts > 0 && (
          <span>{`${formatCount(reporting)} of ${formatCount(hosts)} ${hostsCounted(query.data?.away)} reporting`}</span>
        )
      ) : (
        <span className={classes.stale} role="alert">
          <IconClockExclamation size={15} aria-hidden /> {stale}
        </span>
      )}
      {away !== null && <span className={classes.stale}>{away}</span>}
      <UnstyledButton className={classes.leave} onClick={onLeave}>
        Leave (Esc)
      </UnstyledButton>
    </div>
  )
}
