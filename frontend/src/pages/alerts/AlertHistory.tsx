import { useQuery } from '@tanstack/react-query'
import type { AlertDetail } from '../../api/_generated/schema'
import { notificationsQuery } from '../../api/queries/alerts/routes'
import { alertState } from '../../lib/alerts'
import { countOf, formatQuantity } from '../../lib/units/units'
import { EmptyState } from '../../ui/states/EmptyState'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import { useSession } from '../shell/access/useSession'
import classes from './AlertsPage.module.css'
import { useStateWords } from './useStateWords'

/** The changes of an alert, the newest first, and how many notifications it caused where the viewer may know. */
export function AlertHistory({ detail }: { detail: AlertDetail }) {
  const { may } = useSession()
  const sent = useQuery({ ...notificationsQuery({ alert: detail.alert.id }, null), enabled: may('read:routes') })
  const words = useStateWords()(detail.alert.rule_id)
  const changes = [...detail.history].sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
  if (changes.length === 0) return <EmptyState title="No changes yet" next="The first appears within a minute." />
  return (
    <>
      <ul className={classes.history} aria-label="Changes, newest first">
        {changes.map((change) => (
          <li key={`${change.at}-${change.to_state}`}>
            <Timestamp at={change.at} />
            <ToneTag {...alertState(change.to_state)} />
            {change.value !== null && (
              <span>{words[change.value] ?? formatQuantity(change.value, detail.alert.unit)}</span>
            )}
            {change.reason !== '' && (
              <span className={classes.small}>
                <Prose text={change.reason} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {sent.data !== undefined && (
        <p className={classes.small}>
          {sent.data.items.length === 0
            ? 'No notifications sent.'
            : `${countOf(sent.data.items.length, 'notification')}, the last ${sent.data.items[0]?.status ?? ''}.`}
        </p>
      )}
    </>
  )
}
