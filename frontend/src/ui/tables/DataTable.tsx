import { Skeleton, Table, Tooltip, UnstyledButton } from '@mantine/core'
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react'
import { useContext, type ReactNode } from 'react'
import { createPortal } from 'react-dom'
import { safeFileName } from '../../lib/export/csv'
import type { LoadState } from '../../lib/loadState'
import { ExportMenu } from '../export/ExportMenu'
import { PanelActionsContext } from '../layout/panelActions'
import { SlowNote } from '../layout/Loading'
import { EmptyState } from '../states/EmptyState'
import { ProblemState } from '../states/ProblemState'
import type { Column } from './column'
import classes from './DataTable.module.css'
import { listTable } from './listTable'

export interface TableEmpty {
  title: string
  next: ReactNode
}

interface DataTableProps<Row> {
  label: string
  columns: Column<Row>[]
  /** Undefined while loading: skeleton rows keep the height. */
  rows: Row[] | undefined
  rowKey: (row: Row) => string
  /** The rows that downloads hold, where only a part of them is shown. */
  allRows?: Row[] | undefined
  /** Column key, with a leading `-` for descending. */
  sort?: string | undefined
  onSort?: (sort: string) => void
  /** What a table without rows says, and what to do about it. */
  empty?: TableEmpty
  /** How far the rows are: while there are none, the problem stands in the table's place. */
  load?: LoadState | undefined
  skeletonRows?: number
  /** On a narrow screen each row stands as a block of its cells, so that none is out of sight. */
  stacks?: boolean
}

/** As many columns as this stand closer together, so that they fit on usual screens. */
const manyColumns = 8

function sortRows<Row>(rows: Row[], columns: Column<Row>[], sort: string | undefined): Row[] {
  const descending = sort?.startsWith('-') ?? false
  const column = columns.find((candidate) => candidate.key === sort?.replace(/^-/, ''))
  const sortBy = column?.sortBy
  if (sortBy === undefined) return rows
  return [...rows].sort((a, b) => {
    const [x, y] = [sortBy(a), sortBy(b)]
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1
    const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y))
    return descending ? -order : order
  })
}

function nextSort(key: string, numeric: boolean, sort: string | undefined): string {
  const first = numeric ? `-${key}` : key
  if (sort !== first) return first
  return numeric ? key : `-${key}`
}

/** A dense table that sorts by its headers, keeps its size while loading, and its first column while it scrolls sideways. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns: every, rows, rowKey, sort, onSort, empty, load, skeletonRows = 6, stacks = false } = props
  const columns = every.filter(({ only }) => only !== 'download')
  const sorted = rows === undefined ? undefined : sortRows(rows, every, sort)
  const headerOf = (column: Column<Row>): ReactNode => {
    if (column.sortBy === undefined || onSort === undefined) {
      return column.meaning === undefined ? (
        column.header
      ) : (
        <span className={classes.short} tabIndex={0}>
          {column.header}
        </span>
      )
    }
    const active = sort?.replace(/^-/, '') === column.key
    const Icon = sort?.startsWith('-') ? IconChevronDown : IconChevronUp
    return (
      <UnstyledButton
        className={classes.sort}
        onClick={() => onSort(nextSort(column.key, column.numeric ?? false, sort))}
      >
        {column.header}
        <span className={classes.arrow}>{active && <Icon size={12} aria-hidden />}</span>
      </UnstyledButton>
    )
  }
  const explained = (column: Column<Row>): ReactNode =>
    column.meaning === undefined ? (
      headerOf(column)
    ) : (
      <Tooltip label={column.meaning} events={{ hover: true, focus: true, touch: true }}>
        {headerOf(column)}
      </Tooltip>
    )
  const ariaSort = (column: Column<Row>) =>
    sort?.replace(/^-/, '') !== column.key ? undefined : sort.startsWith('-') ? 'descending' : 'ascending'
  if (load !== undefined && load.problem !== null && sorted === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  if (sorted?.length === 0 && empty !== undefined) return <EmptyState title={empty.title} next={empty.next} />
  return (
    <>
      <Downloads label={label} columns={every} rows={props.allRows ?? sorted} />
      <div className={classes.scroll} data-stacks={stacks} tabIndex={0} role="region" aria-label={label}>
        <Table
          className={classes.table}
          highlightOnHover={sorted !== undefined}
          horizontalSpacing={columns.length < manyColumns ? 'xs' : 6}
        >
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <Table.Th key={column.key} data-numeric={column.numeric ?? false} aria-sort={ariaSort(column)}>
                  {explained(column)}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sorted === undefined
              ? Array.from({ length: skeletonRows }, (_, row) => (
                  <Table.Tr key={row}>
                    {columns.map((column) => (
                      <Table.Td key={column.key}>
                        <Skeleton height={12} my={4} />
                      </Table.Td>
                    ))}
                  </Table.Tr>
                ))
              : sorted.map((row) => (
                  <Table.Tr key={rowKey(row)}>
                    {columns.map((column) => (
                      <Table.Td
                        key={column.key}
                        data-numeric={column.numeric ?? false}
                        data-label={typeof column.header === 'string' ? column.header : undefined}
                      >
                        {column.cell(row)}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                ))}
          </Table.Tbody>
        </Table>
      </div>
      {sorted === undefined && <SlowNote />}
    </>
  )
}

/** The downloads of a list: at the head of its panel, above the list where it stands in none. */
function Downloads<Row>({ label, columns, rows }: { label: string; columns: Column<Row>[]; rows: Row[] | undefined }) {
  const slot = useContext(PanelActionsContext)
  const menu = (
    <ExportMenu
      name={safeFileName(label.toLowerCase())}
      label={label}
      table={rows === undefined ? null : () => listTable(columns, rows)}
    />
  )
  return slot === null ? <div className={classes.downloads}>{menu}</div> : createPortal(menu, slot)
}
