import { expect, it } from 'vitest'
import { proseParts, sentenceCase } from './prose'

it('cuts code out of a text', () => {
  expect(proseParts('Run `echo 1` now')).toEqual([
    { text: 'Run ', code: false },
    { text: 'echo 1', code: true },
    { text: ' now', code: false },
  ])
  expect(proseParts('an odd ` tick')).toEqual([{ text: 'an odd ` tick', code: false }])
  expect(proseParts('')).toEqual([])
})

it('writes percentages of texts as those of figures, but not in code', () => {
  expect(proseParts('held 33% of `100%`')).toEqual([
    { text: 'held 33 % of ', code: false },
    { text: '100%', code: true },
  ])
})

it('begins sentences with a capital, but leaves names of settings alone', () => {
  expect(sentenceCase('there is a slower tier')).toBe('There is a slower tier')
  expect(sentenceCase('vm.swappiness is 0')).toBe('vm.swappiness is 0')
  expect(sentenceCase('sim-queue-01: the top tier is full')).toBe('sim-queue-01: the top tier is full')
  expect(sentenceCase('hot-set overlap is low')).toBe('Hot-set overlap is low')
  expect(sentenceCase('numa_balancing is off')).toBe('numa_balancing is off')
})
