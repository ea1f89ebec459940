import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Notification } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { notificationsQuery, retryNotification } from '../../../api/queries/alerts/routes'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { formatCount } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { Prose } from '../../../ui/text/Prose'
import { Timestamp } from '../../../ui/text/Timestamp'
import { useTimeRange } from '../../shell/time/useTimeRange'
import classes from '../AlertsPage.module.css'

const statuses = {
  waiting: { tone: 'info', label: 'waiting', meaning: 'Queued to be sent or retried.' },
  delivered: { tone: 'good', label: 'delivered', meaning: 'The receiver accepted it.' },
  dead: { tone: 'critical', label: 'failed', meaning: 'All attempts failed. You can retry.' },
} as const

/** What was sent to whom, what waits, and what failed: the newest 100. */
export function DeliveryLog() {
  const queries = useQueryClient()
  const { range } = useTimeRange()
  const query = useQuery({ ...notificationsQuery({}, range.refreshMs), retry: false })
  const retrying = useMutation(retryNotification(queries))
  const load = loadStateOf(query)
  return (
    <Panel title="Deliveries" hint="the newest 100; kept for 90 days" flush testId="deliveries">
      <DataTable
        load={load}
        label="Deliveries"
        columns={columnsOf((id) => retrying.mutate(id))}
        rows={query.data?.items}
        rowKey={(row) => row.id}
        skeletonRows={4}
        empty={{ title: 'No deliveries yet', next: 'Notifications and tests appear here.' }}
      />
      {retrying.error !== null && (
        <p className={classes.narrowed} role="alert">
          <span className={classes.fault}>
            <Prose text={problemText(retrying.error)} />
          </span>
        </p>
      )}
    </Panel>
  )
}

function columnsOf(onRetry: (id: string) => void): Column<Notification>[] {
  return [
    { key: 'at', header: 'Created', cell: (row) => <Timestamp at={row.created_at} /> },
    { key: 'receiver', header: 'Receiver', cell: (row) => `${row.receiver} (${row.kind})` },
    { key: 'reason', header: 'Reason', cell: (row) => row.reason },
    {
      key: 'group',
      header: 'Group',
      cell: (row) =>
        Object.entries(row.group_labels)
          .map(([name, value]) => `${name}=${value}`)
          .join(', '),
    },
    {
      key: 'alerts',
      header: 'Firing / resolved',
      numeric: true,
      cell: (row) => `${formatCount(row.firing)} / ${formatCount(row.resolved)}`,
    },
    { key: 'attempts', header: 'Attempts', numeric: true, cell: (row) => formatCount(row.attempts) },
    { key: 'status', header: 'State', cell: (row) => <ToneTag {...statuses[row.status]} /> },
    {
      key: 'said',
      header: 'Response',
      cell: (row) => (
        <>
          {row.status_code !== null && `${row.status_code} `}
          {row.said !== null && <Prose text={row.said} />}
        </>
      ),
    },
    {
      key: 'do',
      header: '',
      cell: (row) =>
        row.status === 'dead' ? (
          <Button variant="default" size="compact-xs" onClick={() => onRetry(row.id)}>
            Retry
          </Button>
        ) : null,
    },
  ]
}
