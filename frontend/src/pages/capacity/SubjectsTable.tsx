import { Link } from '@tanstack/react-router'
import type { CapacitySubject } from '../../api/_generated/schema'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { labelledColumn } from '../../ui/tables/figureColumn'
import { FigureText } from '../../ui/figures/FigureText'
import { OriginMark } from '../../ui/provenance/OriginMark'
import { terms } from '../../lib/text/_generated/terms'
import { Term } from '../../ui/text/Term'
import classes from './CapacityPage.module.css'

type FigureKey = {
  [Key in keyof CapacitySubject]: CapacitySubject[Key] extends CapacitySubject['capacity_bytes'] ? Key : never
}[keyof CapacitySubject]

function figureOf(key: FigureKey, header: string, what: string, meaning = what): Column<CapacitySubject> {
  return labelledColumn(key, header, (row) => [row[key], `${what} of ${row.name}`], { sorted: true, meaning })
}

/** When a subject is full: a time from now on, that it is not within the horizon, or why nobody can tell. */
function DaysCell({ row, which }: { row: CapacitySubject; which: 'median' | 'early' }) {
  const days = row.days_to_exhaustion
  if (days[which].value === null && days.none_within_horizon) {
    return <span className={classes.none}>none in {days.horizon_days} d</span>
  }
  return (
    <FigureText
      figure={days[which]}
      label={`${which === 'median' ? 'Time until full' : 'Early warning'} of ${row.name}`}
    />
  )
}

/** Marks rows by their origin where `mixed`: where all have the same one, the page says so. */
function columnsFor(
  kind: CapacitySubject['kind'],
  chosen: string | undefined,
  mixed: boolean,
): Column<CapacitySubject>[] {
  return [
    {
      key: 'name',
      header: kind === 'service' ? 'Service' : 'Host group',
      sortBy: (row) => row.name,
      cell: (row) => (
        <Link
          from="/capacity"
          to="/capacity"
          search={(before) => ({ ...before, subject: row.id })}
          resetScroll={false}
          aria-current={row.id === chosen}
          className={classes.subject}
        >
          {row.name}
        </Link>
      ),
    },
    ...(mixed
      ? [
          {
            key: 'origin',
            header: 'Origin',
            sortBy: (row: CapacitySubject) => row.origin,
            cell: (row: CapacitySubject) => (row.origin === 'live' ? 'measured' : <OriginMark origin={row.origin} />),
            value: (row: CapacitySubject) => row.origin,
          },
        ]
      : []),
    {
      key: 'hosts',
      header: 'Hosts',
      numeric: true,
      sortBy: hostsSeen,
      cell: (row) => hostsSeen(row) ?? '–',
      value: hostsSeen,
    },
    figureOf(
      'capacity_bytes',
      'Capacity',
      'Memory',
      kind === 'service'
        ? 'All memory of its hosts, less what others there hold and the kernel cannot reclaim. Capacities of services that share hosts do not add up.'
        : 'All memory of its hosts.',
    ),
    ...(kind === 'service'
      ? [figureOf('resident_bytes', 'Resident', 'Resident memory', `${terms.resident} Page cache is in it.`)]
      : []),
    figureOf(
      'in_use_bytes',
      'In use',
      'Memory in use',
      kind === 'service'
        ? 'Resident memory without page cache of its own that the kernel can reclaim, as far as its cgroups count that.'
        : 'Memory that the kernel cannot reclaim: MemTotal - MemAvailable. Page cache is not in it.',
    ),
    figureOf('hot_bytes', 'Hot', 'Hot memory', terms.hot),
    figureOf('dram_need_bytes', 'DRAM\nneed', 'DRAM need', terms.dramNeed),
    figureOf('cold_bytes', 'Cold', 'Cold memory', terms.cold),
    figureOf('untouched_bytes', 'Untouched', 'Untouched memory', terms.untouched),
    ...(kind === 'service' ? [] : [figureOf('stranded_bytes', 'Stranded', 'Stranded memory', terms.stranded)]),
    figureOf('growth_bytes_per_day', 'Growth', 'Growth', 'How fast memory in use grows, by its forecast.'),
    {
      key: 'days',
      header: 'Time until\nfull',
      meaning: 'Until the forecast of memory in use reaches the share of the capacity that counts as full.',
      numeric: true,
      sortBy: (row) => row.days_to_exhaustion.median.value,
      cell: (row) => <DaysCell row={row} which="median" />,
      value: (row) => row.days_to_exhaustion.median,
    },
    {
      key: 'early',
      header: 'Early\nwarning',
      meaning: 'Until the upper 95 % bound of the forecast reaches it.',
      numeric: true,
      sortBy: (row) => row.days_to_exhaustion.early.value,
      cell: (row) => <DaysCell row={row} which="early" />,
      value: (row) => row.days_to_exhaustion.early,
    },
  ]
}

/** The name of a forecasting method in words. */
export function methodWords(method: string): string {
  return method.replaceAll('_', ' ')
}

interface SubjectsTableProps {
  kind: CapacitySubject['kind']
  subjects: CapacitySubject[] | undefined
  chosen: string | undefined
  sort: string
  onSort: (sort: string) => void
}

/** Hosts of the newest day; null before the first day. */
function hostsSeen(row: CapacitySubject): number | null {
  return row.resident_bytes.window === null ? null : row.hosts
}

/** Services or groups of hosts with their memory, apart by what it is good for, and when they are full. */
export function SubjectsTable({ kind, subjects, chosen, sort, onSort }: SubjectsTableProps) {
  // Columns of nothing would say no more than that the first day is not over.
  const before = subjects !== undefined && subjects.length > 0 && subjects.every((row) => hostsSeen(row) === null)
  const mixed = new Set(subjects?.map(({ origin }) => origin)).size > 1
  return (
    <>
      <DataTable
        label="Capacity"
        columns={columnsFor(kind, chosen, mixed)}
        rows={before ? [] : subjects}
        rowKey={(row) => row.id}
        sort={sort}
        onSort={onSort}
        skeletonRows={8}
        empty={
          before
            ? {
                title: 'No full day worked up yet',
                next: 'Capacity is of full days. The first is told soon after it ends.',
              }
            : {
                title: 'Nothing measured yet',
                next: 'Capacity is computed once a day. Check the agents on the Status page.',
              }
        }
      />
      <p className={classes.legend}>
        <Term name="untouched">Untouched</Term> and cold memory are two different things;{' '}
        <Term name="dramNeed">DRAM need</Term> is what should stay in DRAM.
      </p>
    </>
  )
}
