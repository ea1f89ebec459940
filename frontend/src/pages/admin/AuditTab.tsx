import { Button } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { AuditRow } from '../../api/_generated/schema'
import { auditQuery } from '../../api/queries/access/audit'
import { ApiProblem, unreachable } from '../../api/problem'
import { formatCount } from '../../lib/units/units'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './AdminPage.module.css'
import { TextField } from '../../ui/inputs/fields'

const route = getRouteApi('/admin')

const filters = [
  { key: 'actor', label: 'Who', placeholder: 'a user, a token' },
  { key: 'action', label: 'Action', placeholder: 'token.create, or token' },
  { key: 'subject', label: 'Target', placeholder: 'an id' },
] as const

/** Every change with who made it, newest first; older ones are read page by page. */
export function AuditTab() {
  const { actor, action, subject } = route.useSearch()
  const navigate = route.useNavigate()
  const typed = { actor, action, subject }
  const [filter] = useDebouncedValue(typed, 300)
  const query = useInfiniteQuery(auditQuery(filter))
  const rows = query.data?.pages.flatMap((page) => page.items)
  const narrowed = Object.values(typed).some((value) => value !== undefined)
  return (
    <Panel
      title="Audit trail"
      hint={
        rows === undefined ? undefined : `the newest ${formatCount(rows.length)} changes; entries are never removed`
      }
      flush
      testId="audit"
      actions={
        <span className={classes.filters}>
          {filters.map(({ key, label, placeholder }) => (
            <TextField
              key={key}
              aria-label={label}
              placeholder={placeholder}
              w={150}
              value={typed[key] ?? ''}
              onText={(text) => {
                const value = text
                void navigate({
                  search: (before) => ({ ...before, [key]: value === '' ? undefined : value }),
                  replace: true,
                  resetScroll: false,
                })
              }}
            />
          ))}
        </span>
      }
    >
      {query.error !== null && rows === undefined ? (
        <ProblemState
          problem={(query.error instanceof ApiProblem ? query.error : unreachable()).text}
          onRetry={() => void query.refetch()}
        />
      ) : (
        <DataTable
          label="Audit trail"
          columns={columns}
          rows={rows?.map((item, index) => ({ ...item, index }))}
          rowKey={(row) => `${row.at} ${row.index}`}
          skeletonRows={10}
          empty={{
            title: narrowed ? 'No matching changes' : 'No changes yet',
            next: narrowed ? 'Clear a filter.' : 'Every change of settings, tokens, users and data is listed here.',
          }}
        />
      )}
      {query.hasNextPage && (
        <div className={classes.more}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show older changes
          </Button>
        </div>
      )}
    </Panel>
  )
}

const columns: Column<AuditRow & { index: number }>[] = [
  { key: 'at', header: 'When', cell: (row) => <Timestamp at={row.at} /> },
  { key: 'actor', header: 'Who', cell: (row) => row.actor },
  { key: 'action', header: 'Action', cell: (row) => <code>{row.action}</code> },
  { key: 'subject', header: 'Target', cell: (row) => <code>{row.subject}</code> },
  {
    key: 'detail',
    header: 'Detail',
    cell: (row) => <div className={`ts-mono ${classes.detail ?? ''}`}>{detailText(row.detail)}</div>,
  },
]

/** What an entry says beside who, what and to what: `role: viewer, days: 90`. */
function detailText(detail: AuditRow['detail']): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
