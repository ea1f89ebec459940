import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { flowsFigure, flowSeries, ledgerFigure, resetMarks, seriesInPages, serviceFlows } from './figure'

const theme = chartThemes.dark
const answer = recorded('/v1/hosts/{host_id}/ledger')

describe('the ledger over time', () => {
  it('draws promotions up and each cause of demotion down', () => {
    expect(flowSeries(seriesInPages(answer)).map(({ series, direction }) => [series.key, direction])).toEqual([
      ['promoted_pages', 1],
      ['demoted_kswapd_pages', -1],
      ['demoted_direct_pages', -1],
      ['damon_promoted_bytes', 1],
      ['damon_demoted_bytes', -1],
    ])
  })

  it('draws what DAMON moved in pages of the hosts, striped, and keeps its bytes in the table', () => {
    const line = { key: 'damon_demoted_bytes', label: 'By DAMON', unit: 'bytes_per_s', values: [8192, null, 0] }
    const figure = ledgerFigure({ ...answer, series: [line], page_bytes: 4096 }, theme)
    const bar = figure.data[2] as { y: (number | null)[]; marker: { pattern?: object } }
    expect(bar.y).toEqual([-2, null, -0])
    expect(bar.marker.pattern).toBeDefined()
    expect(figure.table.columns).toContain('By DAMON (B/s)')
    expect(figure.table.rows.slice(0, 3).map((row) => row[1])).toEqual([8192, null, 0])
  })

  it('does not draw what DAMON moved where pages of the hosts differ in size', () => {
    expect(flowSeries(seriesInPages({ ...answer, page_bytes: null })).map(({ series }) => series.key)).not.toContain(
      'damon_promoted_bytes',
    )
  })

  it('draws each service of a host in one colour, up and down, but none that counts nothing', () => {
    const flows = serviceFlows(
      answer.services.map((one, place) => (place === 0 ? one : { ...one, moves: [] })).reverse(),
    )
    expect(flows.map(({ series, direction }) => [series.label, direction])).toEqual([
      ['shop/web, promoted', 1],
      ['shop/web, demoted', -1],
    ])
    expect(new Set(flows.map(({ colour }) => colour)).size).toBe(1)
    const figure = flowsFigure(answer, { flows, listed: flows.map(({ series }) => series) }, theme)
    expect(figure.table.columns.slice(1)).toEqual(['shop/web, promoted (pages/s)', 'shop/web, demoted (pages/s)'])
  })

  it('falls back to all demotions where the kernel does not tell causes apart', () => {
    const series = [{ key: 'demoted_pages', label: 'Demoted', unit: 'pages_per_s', values: [1, 2] }]
    expect(flowSeries(series)).toMatchObject([{ direction: -1 }])
  })

  it('leaves out columns without any value', () => {
    const series = [{ key: 'promoted_pages', label: 'Promoted', unit: 'pages_per_s', values: [null, null] }]
    expect(flowSeries(series)).toEqual([])
  })

  it('marks resets inside the window, with their cause on hover', () => {
    const figure = ledgerFigure(answer, theme)
    expect(figure.layout.annotations).toHaveLength(1)
    expect(figure.layout.annotations?.[0]).toMatchObject({ hovertext: 'excluded: reboot' })
  })

  it('draws one mark where many hosts reset at once', () => {
    const resets = [
      { at: 100, cause: 'reboot', columns: [] },
      { at: 110, cause: 'gap', columns: [] },
      { at: 500, cause: 'gap', columns: [] },
    ]
    expect(resetMarks(resets, 60).map(({ text }) => text)).toEqual(['excluded: reboot, gap', 'excluded: gap'])
  })

  it('shows demotions as positive numbers on hover and in the table', () => {
    const figure = ledgerFigure(answer, theme)
    const down = figure.data[3] as { y: (number | null)[]; customdata: number[] }
    expect(down.y[0]).toBeLessThan(0)
    expect(down.customdata[0]).toBeGreaterThan(0)
    expect(Number(figure.table.rows[0]?.[2])).toBeGreaterThan(0)
  })
})
