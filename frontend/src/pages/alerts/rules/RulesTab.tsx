import { Button, Menu } from '@mantine/core'
import { IconDownload, IconPlus } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { Rule } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { exportRules, rulesQuery, saveRule } from '../../../api/queries/alerts/rules'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { formatDuration } from '../../../lib/units/time'
import { downloadText } from '../../../ui/export/download'
import { Panel } from '../../../ui/layout/Panel'
import { ProblemState } from '../../../ui/states/ProblemState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { SeverityTag } from '../../../ui/tags/SeverityTag'
import { Prose } from '../../../ui/text/Prose'
import { useTimeRange } from '../../shell/time/useTimeRange'
import classes from '../AlertsPage.module.css'
import { StateCountsText } from '../StateCountsText'
import { requestOfRule } from './ruleEntry'
import { SwitchField } from '../../../ui/inputs/fields'
import { LoginFirst } from '../../shell/access/LoginFirst'

const route = getRouteApi('/alerts')
const severityRank = { critical: 0, warning: 1, info: 2 } as const

/** What is watched: shipped rules and own ones, each with how many subjects are in which state. */
export function RulesTab() {
  const { sort = 'group' } = route.useSearch()
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  const { range } = useTimeRange()
  const query = useQuery(rulesQuery(range.refreshMs))
  const load = loadStateOf(query)
  const saving = useMutation(saveRule(queries))
  const exporting = useMutation({
    mutationFn: async (format: 'yaml' | 'prometheus') => {
      downloadText(`tierscope-rules-${format}.yaml`, await exportRules(format), 'application/yaml')
    },
  })
  if (load.problem !== null && query.data === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  const error = saving.error ?? exporting.error
  const enable = (rule: Rule, enabled: boolean) =>
    saving.mutate({ ruleId: rule.id, rule: { ...requestOfRule(rule), enabled } })
  return (
    <Panel
      title="Rules"
      hint="evaluated every minute; shipped rules can be disabled or copied"
      flush
      testId="rules-list"
      actions={
        <>
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="default" leftSection={<IconDownload size={14} aria-hidden />}>
                Export
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => exporting.mutate('yaml')}>YAML</Menu.Item>
              <Menu.Item onClick={() => exporting.mutate('prometheus')}>Prometheus rules</Menu.Item>
            </Menu.Dropdown>
          </Menu>
          <LoginFirst may="write:rules" to="add a rule">
            <Button
              leftSection={<IconPlus size={14} aria-hidden />}
              renderRoot={(props) => <Link {...props} to="/alerts/rules/new" />}
            >
              New rule
            </Button>
          </LoginFirst>
        </>
      }
    >
      {error !== null && (
        <p className={classes.narrowed} role="alert">
          <span className={classes.fault}>
            <Prose text={problemText(error)} />
          </span>
        </p>
      )}
      <DataTable
        label="Rules"
        columns={ruleColumns(enable, saving.isPending ? saving.variables.ruleId : undefined)}
        rows={query.data?.items}
        rowKey={(row) => row.id}
        sort={sort}
        onSort={(next) =>
          void navigate({
            search: (before) => ({ ...before, sort: next === 'group' ? undefined : next }),
            replace: true,
            resetScroll: false,
          })
        }
        empty={{ title: 'No rules', next: 'Add one, or import a file: `tierscope rules import FILE`.' }}
      />
    </Panel>
  )
}

function ruleColumns(enable: (rule: Rule, enabled: boolean) => void, busy: string | undefined): Column<Rule>[] {
  return [
    {
      key: 'name',
      header: 'Rule',
      sortBy: (row) => row.name,
      cell: (row) => (
        <Link to="/alerts/rules/$ruleId" params={{ ruleId: row.id }}>
          {row.name}
        </Link>
      ),
    },
    {
      key: 'severity',
      header: 'Severity',
      sortBy: (row) => severityRank[row.severity],
      cell: (row) => <SeverityTag severity={row.severity} />,
    },
    { key: 'expression', header: 'Condition', cell: (row) => <code>{row.expression}</code> },
    {
      key: 'for',
      header: 'For',
      value: (row) => ({ amount: row.for_seconds, unit: 'seconds' }),
      numeric: true,
      sortBy: (row) => row.for_seconds,
      cell: (row) => (row.for_seconds === 0 ? 'at once' : formatDuration(row.for_seconds)),
    },
    { key: 'scope', header: 'Per', sortBy: (row) => row.scope.kind, cell: (row) => row.scope.kind },
    {
      key: 'group',
      header: 'Group',
      sortBy: (row) => `${row.group} ${row.name}`,
      cell: (row) => <span className={classes.mark}>{row.group}</span>,
    },
    { key: 'origin', header: 'Origin', sortBy: (row) => row.origin, cell: (row) => row.origin },
    {
      key: 'firing',
      header: 'Subjects',
      name: 'Subjects firing',
      value: (row) => row.state_counts.firing,
      sortBy: (row) => -row.state_counts.firing,
      cell: (row) => <StateCountsText rule={row} />,
    },
    {
      key: 'enabled',
      header: 'Enabled',
      value: (row) => (row.enabled ? 'yes' : 'no'),
      sortBy: (row) => (row.enabled ? 0 : 1),
      cell: (row) => (
        <SwitchField
          aria-label={`${row.name} is on`}
          checked={row.enabled}
          disabled={busy === row.id}
          onChecked={(on) => enable(row, on)}
        />
      ),
    },
  ]
}
