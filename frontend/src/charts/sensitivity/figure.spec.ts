import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { fitEnds, sensitivityFigure } from './figure'

const theme = chartThemes.light
const answer = recorded('/v1/services/{service_id}/sensitivity', 'svc-redis')
const names = new Map([['h-1', '<i>db</i>']])

describe('throughput against memory in DRAM', () => {
  it('fits a line over what was seen, and none where it was refused', () => {
    const [low, high] = fitEnds(answer, 'anon')
    expect((high?.throughput ?? 0) - (low?.throughput ?? 0)).toBeGreaterThan(0)
    expect(low?.bytes).toBe(Math.min(...answer.scatter.map((point) => point.anon_bytes)))
    expect(fitEnds(answer, 'file')).toEqual([])
    expect(sensitivityFigure(answer, theme, 'file', names).data).toHaveLength(1)
  })

  it('names hosts as text, and unknown ones by their id', () => {
    const points = sensitivityFigure(answer, theme, 'anon', names).data[0] as { customdata: string[] }
    expect(points.customdata[0]).toContain('&lt;i&gt;db')
    expect(points.customdata[1]).toContain('h-2')
  })
})
