import type { ReactNode } from 'react'
import type { CellValue } from './cellValue'

/** A column: how a row's cell is drawn, and by which value rows are sorted (null sorts last, either way). */
export interface Column<Row> {
  key: string
  header: ReactNode
  /** What the header stands for in full, on hover and focus, where it is short. */
  meaning?: string
  numeric?: boolean
  cell: (row: Row) => ReactNode
  sortBy?: (row: Row) => number | string | null
  /** What downloads hold, where that cannot be told from the cell: unrounded, with its unit. */
  value?: (row: Row) => CellValue
  /** The column's name in downloads, where it differs from the header; empty where it is left out. */
  name?: string
  /** Only downloads hold it: a part of a key that a cell shows beside another one. */
  only?: 'download'
}
