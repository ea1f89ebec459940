import { waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Table } from '../lib/export/csv'
import { openApp } from '../mock-api/render'
import { ExportMenu } from '../ui/export/ExportMenu'
import { listTable } from '../ui/tables/listTable'
import type * as ListTable from '../ui/tables/listTable'

beforeEach(async () => {
  vi.mocked(ExportMenu).mockImplementation(({ label, table }) => (
    <output data-export={label}>{table === null ? '' : JSON.stringify(table())}</output>
  ))
  const real = await vi.importActual<typeof ListTable>('../ui/tables/listTable')
  vi.mocked(listTable).mockImplementation((columns, rows) => ({
    ...real.listTable(columns, rows),
    // Which columns hand nothing out.
    silent: columns.map((column) => real.listTable([column], rows).rows.every(([cell]) => (cell ?? null) === null)),
  }))
})

afterEach(() => {
  vi.mocked(ExportMenu).mockReset()
  vi.mocked(listTable).mockReset()
})

const pages = [
  '/',
  '/services',
  ...['overview', 'revisit', 'curve', 'sensitivity', 'moves', 'hosts', 'advice'].map(
    (tab) => `/services/svc-redis?tab=${tab}`,
  ),
  '/hosts',
  ...['overview', 'advice', 'moves', 'counters', 'hardware', 'setup'].map((tab) => `/hosts/h-1?tab=${tab}`),
  '/experiments',
  '/simulator',
  '/capacity',
  '/capacity?tab=plan',
  '/tco',
  '/tco?tab=compare&with=a&with=b',
  ...['alerts', 'timeline', 'rules', 'silences', 'routes'].map((tab) => `/alerts?tab=${tab}`),
  '/status',
  '/agents',
  '/data-quality',
  '/account',
  ...['users', 'teams', 'tokens', 'audit', 'removals'].map((tab) => `/admin?tab=${tab}`),
]

/** Tables with their label; those that charts turn into have the chart's own downloads. */
function tables(): [label: string, table: HTMLTableElement][] {
  return [...document.querySelectorAll<HTMLElement>('[role=region]')].flatMap((region) => {
    const table = region.querySelector('table')
    return table === null ? [] : [[region.getAttribute('aria-label') ?? '', table]]
  })
}

/** The texts of a column that has a header; what says that a value is absent is no text. */
function textsOf(table: HTMLTableElement, column: number): string[] {
  if ((table.tHead?.rows[0]?.cells[column]?.textContent ?? '') === '') return []
  return [...(table.tBodies[0]?.rows ?? [])]
    .map((row) => row.cells[column])
    .filter((cell) => cell !== undefined && cell.querySelector('[data-nothing]') === null)
    .map((cell) => cell?.textContent?.trim() ?? '')
    .filter((text) => text !== '' && text !== '–' && text !== 'unknown')
}

describe('every page hands out what it shows', () => {
  it.each(pages)('%s', async (path) => {
    openApp(path)
    await waitFor(() => {
      expect(document.querySelector('[data-testid^=page-]')).not.toBeNull()
      expect(document.querySelector('tbody .mantine-Skeleton-root')).toBeNull()
      expect(document.querySelector('[data-testid=chart-skeleton]')).toBeNull()
    })
    for (const chart of document.querySelectorAll('[data-chart]')) {
      expect(chart.querySelector('[data-export]'), chart.getAttribute('data-testid') ?? '').not.toBeNull()
    }
    for (const [label, table] of tables()) {
      const output = document.querySelector(`[data-export="${label}"]`)
      expect(output, `${label} has no downloads`).not.toBeNull()
      const handed = JSON.parse(output?.textContent ?? '') as Table & { silent: boolean[] }
      expect(handed.rows.length, label).toBeGreaterThanOrEqual(table.tBodies[0]?.rows.length ?? 0)
      handed.silent.forEach((silent, column) => {
        if (silent) expect(textsOf(table, column), `${label}, ${handed.columns.join(' | ')}`).toEqual([])
      })
    }
  })
})
