import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import type { Report } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { loadStateOf } from '../../api/queries/base/loadState'
import { deleteReport, reportsQuery } from '../../api/queries/capacity/reports'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'
import { blankReport } from './reportEntry'
import { ReportForm } from './ReportForm'
import { ReportPreview } from './ReportPreview'
import { LoginFirst } from '../shell/access/LoginFirst'

/** Reports that are sent by a schedule: those that exist, a new one, and what it would say now. */
export function ReportsView() {
  const queries = useQueryClient()
  const query = useQuery(reportsQuery())
  const deleting = useMutation(deleteReport(queries))
  const [entry, setEntry] = useState(blankReport)
  const load = loadStateOf(query)
  return (
    <Stack testId="capacity-reports">
      <Panel title="Scheduled reports" hint="times are UTC" flush>
        <DataTable
          load={load}
          label="Scheduled reports"
          columns={columnsFor((report) => (
            <ConfirmDelete
              compact
              what={report.name}
              consequence="It is no longer sent, and its delivery log is deleted."
              pending={deleting.isPending}
              problem={deleting.error === null ? undefined : problemText(deleting.error)}
              onConfirm={() => deleting.mutate(report.id)}
            />
          ))}
          rows={query.data}
          rowKey={(report) => report.id}
          skeletonRows={3}
          empty={{ title: 'No scheduled reports', next: 'Schedule one below.' }}
        />
      </Panel>
      <LoginFirst may="write:reports" to="schedule a report">
        <ReportForm entry={entry} onChange={setEntry} />
      </LoginFirst>
      <ReportPreview name={entry.name} sections={entry.sections} />
    </Stack>
  )
}

function columnsFor(deleteButton: (report: Report) => ReactNode): Column<Report>[] {
  return [
    { key: 'name', header: 'Report', cell: (report) => report.name },
    { key: 'when', header: 'Schedule', cell: scheduleWords },
    { key: 'what', header: 'Sections', cell: (report) => report.sections.join(', ') },
    { key: 'format', header: 'Format', cell: (report) => (report.format === 'both' ? 'HTML and PDF' : report.format) },
    {
      key: 'to',
      header: 'To',
      cell: ({ to }) => [...to.mail, ...(to.webhook == null ? [] : [to.webhook])].join(', '),
    },
    { key: 'next', header: 'Next', cell: (report) => <Timestamp at={report.next_at} /> },
    {
      key: 'last',
      header: 'Last',
      cell: ({ last_run: run }) =>
        run === null ? (
          'not yet'
        ) : (
          <ToneTag
            tone={run.state === 'sent' ? 'good' : run.state === 'failed' ? 'critical' : 'info'}
            label={run.state}
            meaning={run.error ?? `Due ${run.due_at}; delivered to ${run.sent.length} so far.`}
          />
        ),
    },
    {
      key: 'delete',
      header: '',
      cell: deleteButton,
    },
  ]
}

function scheduleWords(report: Report): string {
  if (report.cron !== null) return `cron ${report.cron}`
  return `${report.every_days === 1 ? 'every day' : `every ${report.every_days ?? '?'} days`} at ${report.at}`
}
