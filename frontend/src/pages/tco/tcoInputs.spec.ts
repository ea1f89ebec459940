import { describe, expect, it } from 'vitest'
import type { TcoInput } from '../../api/_generated/schema'
import { numberAt, valueAt } from '../../lib/tco/scenarioSpec'
import { groundingOf, keptChanges, priceDocument, sliderOf, valueOf, withInput } from './tcoInputs'

const dram: TcoInput = {
  name: 'dram',
  label: 'DRAM',
  value: 11,
  low: 9,
  high: 14,
  unit: 'USD per GiB',
  origin: 'price_book',
  source: 'contract 17',
  date: '2026-10-01',
  grounding: 'owner',
}
const range = (path: string, unit: string, over = {}) => ({
  path,
  label: 'Input',
  lowest: 0,
  highest: 0.5,
  step: 0.001,
  unit,
  ...over,
})
const spec = {
  prices: { dram: null },
  power: { pue: { value: 1.54, low: 1.1, high: 1.6 } },
  options: [{ loss: { kind: 'number', value: 0.01, low: 0, high: 0.05 }, dram_gb: 512 }],
}

describe('sliders', () => {
  it('show shares in per cent and prices in the currency of the scenario', () => {
    expect(sliderOf(range('options[].loss.value', 'ratio'), 1, 'EUR')).toMatchObject({
      path: 'options.1.loss.value',
      unit: '%',
      high: 50,
      step: 0.1,
      ceiling: 99,
    })
    expect(sliderOf(range('prices.dram.value', 'per GiB'), 0, 'EUR').unit).toBe('EUR/GiB')
    expect(sliderOf(range('power.pue.value', 'ratio'), 0, 'EUR').unit).toBe('×')
    expect(sliderOf(range('fleet.hosts', 'hosts'), 0, 'EUR').decimals).toBe(0)
  })

  it('take what the service took where the scenario says nothing', () => {
    expect(valueOf(spec, 'prices.dram.value', [dram])).toBe(11)
    expect(valueOf(spec, 'prices.ssd.value', [dram])).toBeNull()
    expect(valueOf(spec, 'options.0.dram_gb', [])).toBe(512)
  })

  it('name source, date and range on hover', () => {
    const lines = groundingOf(sliderOf(range('prices.dram.value', 'per GiB'), 0, 'USD'), dram)
    expect(lines[0]).toBe('Source: contract 17.')
    expect(lines[1]).toContain('2026-10-01')
    expect(lines[2]).toBe('Drawn between 9 and 14 USD/GiB.')
  })
})

describe('a changed input', () => {
  it('takes its range along, so that the range still holds it', () => {
    const changed = withInput(spec, 'options.0.loss.value', 0.2, [], '2026-11-21')
    expect(valueAt(changed, 'options.0.loss')).toEqual({ kind: 'number', value: 0.2, low: 0, high: 0.2 })
    expect(numberAt(withInput(spec, 'power.pue.value', 1.05, [], '2026-11-21'), 'power.pue.low')).toBe(1.05)
  })

  it('says that a price was changed by hand, from what, and when', () => {
    const once = withInput(spec, 'prices.dram.value', 15, [dram], '2026-11-21')
    expect(valueAt(once, 'prices.dram')).toEqual({
      value: 15,
      low: null,
      high: null,
      source: 'changed by hand; before: contract 17',
      date: '2026-11-21',
    })
    const twice = withInput(once, 'prices.dram.value', 16, [dram], '2026-11-22')
    expect(valueAt(twice, 'prices.dram.source')).toBe('changed by hand; before: contract 17')
  })

  it('is a plain number where it has no range', () => {
    expect(numberAt(withInput(spec, 'options.0.dram_gb', 640, [], ''), 'options.0.dram_gb')).toBe(640)
  })

  it('can be a price of the book', () => {
    expect(priceDocument({ ...dram, source: 'x'.repeat(300), date: '2026-10-01' })['source']).toHaveLength(200)
  })
})

describe('changes that hold for other hosts', () => {
  it('are prices, power, endurance and finance, not hosts', () => {
    const changes = { 'prices.dram': 1, 'options.0.dram_gb': 2, 'finance.life_years': 3, prices_of: 4 }
    expect(keptChanges(changes)).toEqual({ 'prices.dram': 1, 'finance.life_years': 3 })
    expect(keptChanges({ 'fleet.hosts': 1 })).toBeUndefined()
    expect(keptChanges(undefined)).toBeUndefined()
  })
})
