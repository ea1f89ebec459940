import type { UnreadSeries } from '../../api/_generated/schema'
import { countOf, formatCount } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import classes from './AddHosts.module.css'

/** What came by remote write or OTLP and gives no host, so that nobody waits for one in vain. */
export function UnreadPanel({ unread }: { unread: readonly UnreadSeries[] }) {
  if (unread.length === 0) return null
  return (
    <Panel title="Came, but gives no host" hint="the last two hours" testId="unread-series">
      <ul className={classes.unread}>
        {unread.map((one) => (
          <li key={`${one.word} ${one.reason}`}>
            {formatCount(one.series)} series of {countOf(one.senders, 'sender')}: {one.reason}.{' '}
            <code className="ts-mono">{one.example}</code>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
