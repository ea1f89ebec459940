import { Button, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Alert } from '../../api/_generated/schema'
import { alertsQuery } from '../../api/queries/alerts/alerts'
import { loadStateOf } from '../../api/queries/base/loadState'
import { alertStates, severities, type AlertsSearch } from '../../lib/url/alertsUrl'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { DataTable } from '../../ui/tables/DataTable'
import { useNow } from '../shell/time/useNow'
import { useTimeRange } from '../shell/time/useTimeRange'
import { alertColumns } from './alertColumns'
import classes from './AlertsPage.module.css'
import { useStateWords } from './useStateWords'
import { TextField } from '../../ui/inputs/fields'

const route = getRouteApi('/alerts')

const stateLabels = {
  open: 'Open',
  firing: 'Firing',
  pending: 'Pending',
  no_data: 'No data',
  resolved: 'Resolved',
} as const

function matches(alert: Alert, words: string[]): boolean {
  const text = `${alert.rule_name} ${alert.subject.name} ${alert.summary}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Alerts by severity and age, with filters. */
export function AlertsTab() {
  const { state = 'open', severity, rule, host, service, q = '', sort = 'urgency' } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const now = useNow()
  const wordsOf = useStateWords()
  const query = useQuery(alertsQuery(state, { severity, rule, host, service }, range.refreshMs))
  const load = loadStateOf(query)
  const change = (next: Partial<AlertsSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  if (load.problem !== null && query.data === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  const words = q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  const shown = query.data?.items.filter((alert) => matches(alert, words))
  const narrowed = rule !== undefined || host !== undefined || service !== undefined
  return (
    <Panel
      title="Alerts"
      hint={query.data?.truncated === true ? 'the newest 2,000' : 'by severity, then age'}
      flush
      testId="alerts-list"
      actions={
        <>
          <TextField
            aria-label="Filter alerts"
            placeholder="rule or subject"
            w={150}
            value={q}
            onText={(text) => change({ q: text === '' ? undefined : text })}
          />
          <SegmentedControl
            aria-label="Severity"
            value={severity ?? 'all'}
            onChange={(value) => change({ severity: severities.find((name) => name === value) })}
            data={['all', ...severities]}
          />
          <SegmentedControl
            aria-label="State"
            value={state}
            onChange={(value) =>
              change({ state: value === 'open' ? undefined : alertStates.find((name) => name === value) })
            }
            data={alertStates.map((value) => ({ value, label: stateLabels[value] }))}
          />
        </>
      }
    >
      {narrowed && (
        <p className={classes.narrowed}>
          Only alerts for one {rule !== undefined ? 'rule' : host !== undefined ? 'host' : 'service'}.{' '}
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => change({ rule: undefined, host: undefined, service: undefined })}
          >
            Show all
          </Button>
        </p>
      )}
      <DataTable
        stacks
        label="Alerts"
        columns={alertColumns(now, wordsOf)}
        rows={shown}
        rowKey={(row) => row.id}
        sort={sort}
        onSort={(next) => change({ sort: next === 'urgency' ? undefined : next })}
        empty={{
          title: state === 'open' ? 'No open alerts' : `No ${stateLabels[state].toLowerCase()} alerts`,
          next:
            words.length > 0 || severity !== undefined || narrowed
              ? 'Try other filters.'
              : 'See Rules for what is monitored.',
        }}
      />
    </Panel>
  )
}
