import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { strongest, tornadoFigure, type Swing } from './figure'

const swing = (label: string, saving_low: number, saving_high: number): Swing => ({
  label,
  low: '1 W',
  high: '2 W',
  saving_low,
  saving_high,
})
const swings = [swing('PUE', 190, 220), swing('Life', 200, 200), swing('DRAM price', 400, -50)]

describe('inputs by what they change', () => {
  it('puts the strongest first and leaves out those without effect', () => {
    expect(strongest(swings).map(({ label }) => label)).toEqual(['DRAM price', 'PUE'])
  })

  it('starts both bars of an input at the saving as it is', () => {
    const figure = tornadoFigure({ currency: 'USD', saving: 206, swings }, chartThemes.dark)
    const [low, high] = figure.data as { base: number[]; x: number[]; y: number[] }[]
    expect(low?.base).toEqual([206, 206])
    expect([low?.x[0], high?.x[0]]).toEqual([194, -256])
    // The first row is drawn at the top.
    expect(low?.y).toEqual([1, 0])
    expect(figure.table.rows[0]).toEqual(['DRAM price', '1 W', 400, '2 W', -50])
  })
})
