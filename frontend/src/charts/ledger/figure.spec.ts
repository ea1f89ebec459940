import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { ledger } from '../../mock-api/ledger/tierMoves'
import { flowSeries, ledgerFigure, resetMarks } from './figure'

const theme = chartThemes.dark
const answer = ledger('host')

describe('the ledger over time', () => {
  it('draws promotions up and each cause of demotion down', () => {
    expect(flowSeries(answer.series).map(({ series, direction }) => [series.key, direction])).toEqual([
      ['promoted_pages', 1],
      ['demoted_kswapd_pages', -1],
      ['demoted_direct_pages', -1],
    ])
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
