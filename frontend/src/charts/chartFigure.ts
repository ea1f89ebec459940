import type { Data, Layout } from 'plotly.js'
import type { Table } from '../lib/export/csv'

/** What a figure.ts makes of an answer: a Plotly figure, and the same values as a table. */
export interface ChartFigure {
  data: Data[]
  layout: Partial<Layout>
  table: Table
}
