import { describe, expect, it } from 'vitest'
import { figure, heatShare, nothing } from '../../mock-api/figures'
import { FigureText } from '../figures/FigureText'
import { ToneTag } from '../tags/ToneTag'
import { Timestamp } from '../text/Timestamp'
import { listTable } from './listTable'

describe('a list that is handed out', () => {
  it('has the values behind its cells, unrounded, with units, intervals and ways of being absent', () => {
    const rows = [heatShare('a/1', 0.123456789), nothing('a/1', 'ratio', 'not_supported', 'One tier.')]
    const table = listTable([{ key: 'a', header: 'Hot', cell: (row) => <FigureText figure={row} label="hot" /> }], rows)
    expect(table.columns).toEqual(['Hot (ratio)', 'Hot, low (ratio)', 'Hot, high (ratio)', 'Hot, status'])
    expect(table.rows[0]?.[0]).toBe(0.123456789)
    expect(table.rows[1]).toEqual([null, null, null, 'not_supported'])
  })

  it('gives units a column of their own where they differ', () => {
    const rows = [figure('a/1', 1, 'bytes'), figure('b/1', 2, 'pages')]
    const table = listTable([{ key: 'a', header: 'Value', cell: (row) => <FigureText figure={row} label="" /> }], rows)
    expect(table).toEqual({
      columns: ['Value', 'Value, unit'],
      rows: [
        [1, 'bytes'],
        [2, 'pages'],
      ],
    })
  })

  it('reads times, tags and nested texts, and leaves buttons out', () => {
    const table = listTable(
      [
        { key: 'at', header: <>Since</>, cell: (at: string) => <Timestamp at={at} /> },
        { key: 'state', header: 'State', cell: () => <ToneTag tone="good" label="fine" /> },
        {
          key: 'name',
          header: (
            <>
              Two
              <br />
              lines
            </>
          ),
          cell: () => (
            <strong>
              a <code>b</code>
            </strong>
          ),
        },
        { key: 'do', header: '', cell: () => <button>Delete</button> },
      ],
      ['2026-11-21T03:00:00Z'],
    )
    expect(table).toEqual({
      columns: ['Since (UTC)', 'State', 'Two lines'],
      rows: [['2026-11-21 03:00:00 UTC', 'fine', 'a b']],
    })
  })

  it('keeps parts of a key apart, and has columns that only downloads hold', () => {
    const table = listTable(
      [
        {
          key: 'name',
          header: 'Service',
          cell: () => (
            <div>
              <a href="#a">cache-graph</a>
              <span>shop</span>
            </div>
          ),
        },
        { key: 'namespace', header: 'Namespace', only: 'download', cell: () => 'shop' },
      ],
      [1],
    )
    expect(table).toEqual({ columns: ['Service', 'Namespace'], rows: [['cache-graph shop', 'shop']] })
  })

  it('falls back to what rows are sorted by', () => {
    const Own = () => <span>drawn</span>
    const table = listTable([{ key: 'a', header: 'A', cell: () => <Own />, sortBy: (row: number) => row }], [7])
    expect(table.rows).toEqual([[7]])
  })
})
