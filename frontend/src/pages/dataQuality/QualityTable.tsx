import { Tooltip } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { HostQuality } from '../../api/_generated/schema'
import { formatCount } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import { EmptyState } from '../../ui/states/EmptyState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import classes from './DataQualityPage.module.css'

type FigureKey =
  | 'expected_intervals'
  | 'received'
  | 'missing'
  | 'late'
  | 'corrected'
  | 'too_late'
  | 'set_aside'
  | 'duplicates'
  | 'dropped'
  | 'clock_skew_seconds'

function figureColumn(key: FigureKey, header: string, meaning: string): Column<HostQuality> {
  return {
    key,
    header,
    meaning,
    numeric: true,
    sortBy: (row) => row[key].value,
    cell: (row) => (
      <FigureText figure={row[key]} label={`${header} of ${row.name}`} bare={key !== 'clock_skew_seconds'} />
    ),
  }
}

const columns: Column<HostQuality>[] = [
  {
    key: 'name',
    header: 'Host',
    sortBy: (row) => row.name,
    cell: (row) => (
      <Link to="/hosts/$hostId" params={{ hostId: row.host_id }}>
        {row.name}
      </Link>
    ),
  },
  { key: 'origin', header: 'Origin', sortBy: (row) => row.origin, cell: (row) => row.origin },
  figureColumn('expected_intervals', 'Expected', 'Intervals that should have come while the host was enrolled.'),
  figureColumn('received', 'Received', 'Intervals that came and are stored.'),
  figureColumn('missing', 'Missing', 'Intervals that did not come; the timeline says why.'),
  figureColumn('late', 'Late', 'Stored, though they came more than ten minutes after their end.'),
  figureColumn('corrected', 'Rebuilt', 'Stored with a time that was rebuilt, because the clock of the host was off.'),
  figureColumn('too_late', 'Too late', 'Not stored: they came after their time was closed.'),
  figureColumn('set_aside', 'Set aside', 'Not stored: they could not be read or made no sense.'),
  figureColumn('duplicates', 'Again', 'Batches that came again and were stored once.'),
  figureColumn('dropped', 'Dropped', 'Batches that the agent gave up, because its spool was full.'),
  figureColumn('clock_skew_seconds', 'Clock', 'How far the clock of the host is ahead of the service’s.'),
  {
    key: 'caps',
    header: 'Limits reached',
    value: (row) => row.caps.map(({ name }) => name).join(', '),
    cell: (row) =>
      row.caps.length === 0 ? (
        'none'
      ) : (
        <span className={classes.caps}>
          {row.caps.map(({ name, text }) => (
            <Tooltip key={name} label={text} events={{ hover: true, focus: true, touch: true }}>
              <span tabIndex={0}>{name.replaceAll('_', ' ')}</span>
            </Tooltip>
          ))}
        </span>
      ),
  },
  {
    key: 'gaps',
    header: 'Gaps',
    numeric: true,
    sortBy: (row) => row.gaps.length + row.more_gaps,
    value: (row) => row.gaps.length + row.more_gaps,
    cell: (row) => formatCount(row.gaps.length + row.more_gaps),
  },
]

interface QualityTableProps {
  hosts: HostQuality[] | undefined
  sort: string
  onSort: (sort: string) => void
}

/** Hosts with what they should have sent, what came, and what was left out. */
export function QualityTable({ hosts, sort, onSort }: QualityTableProps) {
  return (
    <DataTable
      label="Data quality by host"
      columns={columns}
      rows={hosts}
      rowKey={(row) => row.host_id}
      sort={sort}
      onSort={onSort}
      skeletonRows={10}
      empty={
        <EmptyState title="No host was enrolled in this time range" next="Widen the time range, or enrol a host." />
      }
    />
  )
}
