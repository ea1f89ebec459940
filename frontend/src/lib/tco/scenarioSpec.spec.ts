import { describe, expect, it } from 'vitest'
import { changesBetween, numberAt, readChanges, valueAt, withChanges, withValue } from './scenarioSpec'

const base = {
  name: 'Start',
  inputs: { dram: null, pue: { value: 1.54, low: 1.1, high: 1.6 } },
  options: [
    { name: 'A', cxl: { gb: 256, devices: 1 }, loss: { value: 0.005 } },
    { name: 'B', cxl: null, loss: { value: 0.01 } },
  ],
}

describe('a scenario by paths', () => {
  it('reads values within objects and lists', () => {
    expect(numberAt(base, 'options.0.cxl.gb')).toBe(256)
    expect(valueAt(base, 'options.1.cxl')).toBeNull()
    expect(valueAt(base, 'options.7.cxl.gb')).toBeUndefined()
    expect(numberAt(base, 'name')).toBeNull()
  })

  it('changes a copy, never the scenario itself', () => {
    const changed = withValue(base, 'options.0.cxl.gb', 512)
    expect(changed.options[0]?.cxl?.gb).toBe(512)
    expect(base.options[0]?.cxl?.gb).toBe(256)
    expect(withValue(base, '__proto__.polluted', 1)).toEqual(base)
  })

  it('finds the changes that lead back to the same scenario', () => {
    const changed = [
      ['inputs.dram', { value: 11, low: 9, high: 13 }],
      ['options.0.loss.value', 0.02],
      ['options.1.cxl', { gb: 128, devices: 1 }],
    ] as const
    const after = changed.reduce((spec, [path, value]) => withValue(spec, path, value), base)
    const changes = changesBetween(base, after)
    expect(Object.keys(changes)).toEqual(changed.map(([path]) => path))
    expect(withChanges(base, changes)).toEqual(after)
    expect(changesBetween(base, base)).toEqual({})
  })

  it('keeps a list of another length whole, and changes within it after it', () => {
    const after = { ...base, options: base.options.slice(0, 1) }
    expect(changesBetween(base, after)).toEqual({ options: after.options })
    expect(withChanges(base, { 'options.0.loss.value': 0.3, options: after.options })).toEqual(
      withValue(after, 'options.0.loss.value', 0.3),
    )
  })

  it('drops what no link of ours holds', () => {
    expect(readChanges('x')).toBeUndefined()
    expect(readChanges({})).toBeUndefined()
    expect(readChanges({ 'a.constructor.b': 1, 'inputs.pue.value': 1.2 })).toEqual({ 'inputs.pue.value': 1.2 })
  })
})
