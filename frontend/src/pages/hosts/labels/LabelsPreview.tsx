import type { LabelChange, LabelProblem, LabelUpload } from '../../../api/_generated/schema'
import { labelsText } from '../../../lib/fleet/labels'
import { countOf } from '../../../lib/units/units'
import { StateNote } from '../../../ui/states/StateNote'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'

const changeColumns: Column<LabelChange>[] = [
  { key: 'name', header: 'Host', cell: (row) => row.name },
  { key: 'before', header: 'Before', cell: (row) => labelsText(row.before) },
  { key: 'after', header: 'After', cell: (row) => labelsText(row.after) },
]

const problemColumns: Column<LabelProblem>[] = [
  { key: 'row', header: 'Row', numeric: true, cell: (row) => (row.row === 0 ? 'file' : row.row) },
  { key: 'message', header: 'Error', cell: (row) => row.message },
]

/** What a file of labels changes, or changed: hosts before and after, those that nobody knows, and rows left out. */
export function LabelsPreview({ upload }: { upload: LabelUpload }) {
  const { changed, unknown, problems, rows, dry_run: dryRun } = upload
  return (
    <>
      <StateNote tone={problems.length > 0 || unknown.length > 0 ? 'warning' : 'good'} testId="labels-preview">
        <p>
          {countOf(rows, 'row')}: {countOf(changed.length, 'host')}{' '}
          {dryRun ? 'would change' : changed.length === 1 ? 'was changed' : 'were changed'}.
          {unknown.length > 0 && ` Not known here: ${unknown.join(', ')}.`}
        </p>
      </StateNote>
      {problems.length > 0 && (
        <DataTable
          label="Skipped rows"
          columns={problemColumns}
          rows={problems}
          rowKey={(row) => `${row.row} ${row.message}`}
        />
      )}
      <DataTable
        label="Hosts whose labels change"
        columns={changeColumns}
        rows={changed}
        rowKey={(row) => row.host_id}
        empty={{ title: 'No host changes', next: 'All labels in the file already apply.' }}
      />
    </>
  )
}
