import { Tooltip } from '@mantine/core'
import type { HostQuality } from '../../api/_generated/schema'
import { formatCount } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import classes from './DataQualityPage.module.css'
import { HostLink } from '../shell/links'

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
    cell: (row) => <HostLink id={row.host_id}>{row.name}</HostLink>,
  },
  { key: 'origin', header: 'Origin', sortBy: (row) => row.origin, cell: (row) => row.origin },
  figureColumn('expected_intervals', 'Expected', 'Intervals expected while the host was enrolled.'),
  figureColumn('received', 'Received', 'Intervals received and stored.'),
  figureColumn('missing', 'Missing', 'Intervals that did not arrive; the timeline shows why.'),
  figureColumn('late', 'Late', 'Stored, but received more than ten minutes after their end.'),
  figureColumn('corrected', 'Corrected', 'Stored with a corrected timestamp, because the clock of the host was off.'),
  figureColumn('too_late', 'Too late', 'Not stored: received after their time was closed.'),
  figureColumn('set_aside', 'Quarantined', 'Not stored: unreadable or implausible.'),
  figureColumn('duplicates', 'Retransmitted', 'Batches received more than once and stored once.'),
  figureColumn('dropped', 'Dropped', 'Batches that the agent dropped because its spool was full.'),
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
  amountColumn('gaps', 'Gaps', (row) => row.gaps.length + row.more_gaps, formatCount, { sorted: true }),
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
      empty={{ title: 'No host was enrolled in this time range', next: 'Widen the time range, or enrol a host.' }}
    />
  )
}
