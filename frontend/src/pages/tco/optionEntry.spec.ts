import { describe, expect, it } from 'vitest'
import { addedOption, optionNames, removedOption } from './optionEntry'

const spec = {
  baseline: { name: 'today' },
  options: [
    { name: 'A', dram_gb: 512 },
    { name: 'A 2', dram_gb: 256 },
  ],
}

describe('options of a scenario', () => {
  it('are copied under a name of their own', () => {
    const added = addedOption(spec, 0)
    expect(added.option).toBe(2)
    expect(optionNames(added.spec)).toEqual(['A', 'A 2', 'A 3'])
    expect(added.spec['options']).toContainEqual({ name: 'A 3', dram_gb: 512 })
  })

  it('are removed, but never the last one', () => {
    const left = removedOption(spec, 1)
    expect([optionNames(left.spec), left.option]).toEqual([['A'], 0])
    expect(removedOption(left.spec, 0).spec).toEqual(left.spec)
  })
})
