import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Silence } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { alertQuery } from '../../../api/queries/alerts/alerts'
import { expireSilence, silencesQuery } from '../../../api/queries/alerts/silences'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { matchersText } from '../../../lib/alerts'
import { formatCount } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import { Stack } from '../../../ui/layout/Stack'
import { ProblemState } from '../../../ui/states/ProblemState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { ConfirmDelete } from '../../../ui/inputs/ConfirmDelete'
import { Prose } from '../../../ui/text/Prose'
import { Timestamp } from '../../../ui/text/Timestamp'
import { useTimeRange } from '../../shell/time/useTimeRange'
import classes from '../AlertsPage.module.css'
import { NewSilenceForm } from './NewSilenceForm'
import { SwitchField } from '../../../ui/inputs/fields'
import { LoginFirst } from '../../shell/access/LoginFirst'

const route = getRouteApi('/alerts')

const statuses = {
  pending: { tone: 'info', label: 'pending', meaning: 'It starts later.' },
  active: { tone: 'warning', label: 'active', meaning: 'Notifications of matching alerts are suppressed.' },
  expired: { tone: 'neutral', label: 'expired', meaning: 'It has ended.' },
} as const

/** What is held back for a time, by whom and why; a new silence may begin from an alert. */
export function SilencesTab() {
  const { alert: alertId } = route.useSearch()
  const queries = useQueryClient()
  const { range } = useTimeRange()
  const [all, setAll] = useState(false)
  const query = useQuery(silencesQuery(range.refreshMs))
  const source = useQuery({ ...alertQuery(alertId ?? '', null), enabled: alertId !== undefined })
  const expiring = useMutation(expireSilence(queries))
  const load = loadStateOf(query)
  if (load.problem !== null && query.data === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  const shown = query.data?.items.filter(({ status }) => all || status !== 'expired')
  return (
    <Stack>
      {(alertId === undefined || !source.isPending) && (
        <LoginFirst may="write:silences" to="silence alerts">
          <NewSilenceForm key={alertId ?? 'any'} alert={alertId === undefined ? undefined : source.data?.alert} />
        </LoginFirst>
      )}
      <Panel
        title="Silences"
        hint="silenced alerts are still shown"
        flush
        testId="silences-list"
        actions={<SwitchField label="Show expired" checked={all} onChecked={setAll} />}
      >
        {expiring.error !== null && (
          <p className={classes.narrowed} role="alert">
            <span className={classes.fault}>
              <Prose text={problemText(expiring.error)} />
            </span>
          </p>
        )}
        <DataTable
          label="Silences"
          columns={silenceColumns((id) => expiring.mutate(id))}
          rows={shown}
          rowKey={(row) => row.id}
          skeletonRows={3}
          empty={{ title: 'No silences', next: 'Silence an alert from its page, or write matchers above.' }}
        />
      </Panel>
    </Stack>
  )
}

function silenceColumns(onExpire: (id: string) => void): Column<Silence>[] {
  return [
    { key: 'status', header: 'State', cell: (row) => <ToneTag {...statuses[row.status]} /> },
    { key: 'matchers', header: 'Matches', cell: (row) => <code>{matchersText(row.matchers)}</code> },
    {
      key: 'open',
      header: 'Open alerts',
      numeric: true,
      cell: (row) => <Matched silence={row} />,
      value: (row) => row.matches.length,
    },
    { key: 'from', header: 'From', cell: (row) => <Timestamp at={row.starts_at} /> },
    { key: 'to', header: 'To', cell: (row) => <Timestamp at={row.ends_at} /> },
    { key: 'comment', header: 'Reason', cell: (row) => row.comment },
    { key: 'by', header: 'By', cell: (row) => row.created_by },
    {
      key: 'do',
      header: '',
      cell: (row) =>
        row.status === 'expired' ? null : (
          <LoginFirst may="write:silences" to="end it">
            <ConfirmDelete
              verb="End now"
              what="this silence"
              consequence="Alerts that it holds back are notified again from now on."
              pending={false}
              onConfirm={() => onExpire(row.id)}
            />
          </LoginFirst>
        ),
    },
  ]
}

/** How many open alerts a silence matches; a single one is linked. */
function Matched({ silence }: { silence: Silence }) {
  const [only, ...more] = silence.matches
  if (only === undefined || more.length > 0) return formatCount(silence.matches.length)
  return (
    <Link to="/alerts/$alertId" params={{ alertId: only }}>
      1
    </Link>
  )
}
