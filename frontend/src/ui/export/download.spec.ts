import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet'
import { describe, expect, it } from 'vitest'
import { exportName, parquetOf, type ExportOrigin } from './download'

const simulated: ExportOrigin = {
  origin: 'simulated',
  window: { start: '2026-11-20T21:00:00Z', end: '2026-11-21T03:00:00Z' },
  version: '0.7.0',
}
const series = {
  columns: ['time (UTC)', 'hot (bytes)', 'kind'],
  rows: [
    ['2026-11-21 03:00:00 UTC', 2 ** 40 + 0.5, 'anon'],
    ['2026-11-21 03:01:00 UTC', null, '=1+1'],
  ],
}

async function written(table = series, origin = simulated) {
  const file = await parquetOf('Hot memory', table, origin, new Date('2026-11-21T04:00:00Z'))
  const metadata = parquetMetadata(file)
  const facts = Object.fromEntries((metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value]))
  return { file, metadata, facts }
}

describe('a Parquet file', () => {
  it('reads back as it was: doubles, timestamps, texts, nulls', async () => {
    const { file, metadata } = await written()
    expect(await parquetReadObjects({ file })).toEqual([
      { 'time (UTC)': new Date('2026-11-21T03:00:00Z'), 'hot (bytes)': 2 ** 40 + 0.5, kind: 'anon' },
      { 'time (UTC)': new Date('2026-11-21T03:01:00Z'), 'hot (bytes)': null, kind: '=1+1' },
    ])
    const types = parquetSchema(metadata).children.map(({ element }) => element.type)
    expect(types).toEqual(['INT64', 'DOUBLE', 'BYTE_ARRAY'])
    expect(metadata.created_by).toBe('Tierscope 0.7.0')
  })

  it('says what it holds, in which units, of which time, and that it is simulated', async () => {
    const { facts } = await written()
    expect(facts).toMatchObject({
      title: 'Hot memory',
      origin: 'simulated',
      window_start: '2026-11-21T03:00:00.000Z',
      window_end: '2026-11-21T03:01:00.000Z',
      exported_at: '2026-11-21T04:00:00.000Z',
    })
    expect(JSON.parse(facts['units'] ?? '')).toEqual({ 'time (UTC)': 'UTC', 'hot (bytes)': 'bytes', kind: null })
  })

  it('takes the window of the page where no column tells a time', async () => {
    const { facts } = await written({ columns: ['kind'], rows: [['anon']] })
    expect(facts['window_start']).toBe('2026-11-20T21:00:00Z')
  })

  it('may have no rows', async () => {
    const { file } = await written({ columns: ['hot (bytes)', 'kind'], rows: [] })
    expect(await parquetReadObjects({ file })).toEqual([])
  })
})

describe('the name of a file', () => {
  it('says that its values are simulated', () => {
    expect(exportName('class-time', simulated)).toBe('tierscope-class-time-simulated')
    expect(exportName('class-time', { ...simulated, origin: 'measured' })).toBe('tierscope-class-time')
  })
})
