import { describe, expect, it } from 'vitest'
import { columnUnit, parquetColumns, windowOfTable } from './parquetColumns'

const table = {
  columns: ['time (UTC)', 'hot (bytes)', 'cold (bytes)', 'note', 'note', 'mixed'],
  rows: [
    ['2026-11-21 03:00:00 UTC', 1.5, null, 'a', null, 1],
    ['2026-11-20', null, null, null, null, 'two'],
  ],
}

describe('the columns of a Parquet file', () => {
  it('have a type: doubles, timestamps, texts; mixed ones are text', () => {
    expect(parquetColumns(table).map(({ name, unit, type }) => [name, unit, type])).toEqual([
      ['time (UTC)', 'UTC', 'TIMESTAMP'],
      ['hot (bytes)', 'bytes', 'DOUBLE'],
      ['cold (bytes)', 'bytes', 'DOUBLE'],
      ['note', null, 'STRING'],
      ['note 2', null, 'STRING'],
      ['mixed', null, 'STRING'],
    ])
  })

  it('keep absent values absent', () => {
    expect(parquetColumns(table)[1]?.data).toEqual([1.5, null])
    expect(parquetColumns(table)[5]?.data).toEqual(['1', 'two'])
  })

  it('tell the stretch of time that they cover', () => {
    expect(windowOfTable(parquetColumns(table))).toEqual({
      start: '2026-11-20T00:00:00.000Z',
      end: '2026-11-21T03:00:00.000Z',
    })
    expect(windowOfTable(parquetColumns({ columns: ['a'], rows: [[1]] }))).toBeNull()
  })

  it('do not take a text for a time', () => {
    const odd = { columns: ['when (UTC)'], rows: [['yesterday']] }
    expect(parquetColumns(odd)[0]?.type).toBe('STRING')
    expect(columnUnit('share (%) of all')).toBeNull()
  })
})
