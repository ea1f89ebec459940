import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { hostsNeededFigure } from './figure'

describe('hosts needed per quarter', () => {
  it('sets both plans side by side, and leaves one that cannot be made without a bar', () => {
    const figure = hostsNeededFigure(
      [
        { quarter: '2026 Q4', hosts_without_tiering: 12, hosts_with_tiering: 9, hosts_with_swap: null },
        { quarter: '2027 Q1', hosts_without_tiering: null, hosts_with_tiering: 11, hosts_with_swap: null },
      ],
      chartThemes.light,
    )
    const [without, withTiers] = figure.data as { y: (number | null)[]; text: string[] }[]
    expect(without?.y).toEqual([12, null])
    expect(without?.text[1]).toBe('')
    expect(withTiers?.y).toEqual([9, 11])
    expect(figure.table.rows[1]).toEqual(['2027 Q1', null, 11])
  })

  it('sets the plan with swap beside them where there is one', () => {
    const figure = hostsNeededFigure(
      [{ quarter: '2026 Q4', hosts_without_tiering: 12, hosts_with_tiering: 9, hosts_with_swap: 7 }],
      chartThemes.light,
    )
    expect(figure.data).toHaveLength(3)
    expect(figure.table.columns).toEqual([
      'quarter',
      'hosts without tiering',
      'hosts with tiering',
      'hosts with swap too',
    ])
    expect(figure.table.rows).toEqual([['2026 Q4', 12, 9, 7]])
  })
})
