import { expect, it } from 'vitest'
import { valueText, wordsOf } from './stateWords'

const series = [
  { name: 'free_dram_ratio', words: [] },
  { name: 'ping_pong_state', words: ['ok', 'warn', 'crit'] },
]

it('finds the states that a condition is about', () => {
  expect(wordsOf('free_dram_ratio < 5% and ping_pong_state >= crit', series)).toEqual(['ok', 'warn', 'crit'])
  expect(wordsOf('free_dram_ratio < 5%', series)).toEqual([])
})

it('names states, writes numbers with their unit, and says nothing of what is not known', () => {
  const words = ['ok', 'warn', 'crit']
  const alert = { value: 2, unit: 'state', threshold: 1, state: 'firing' as const }
  expect(valueText(alert, words)).toBe('crit (warn)')
  expect(valueText({ ...alert, unit: 'ratio', value: 0, threshold: 0.05 }, [])).toBe('0 % (5 %)')
  expect(valueText({ ...alert, value: null, threshold: null }, words)).toBe('–')
})

it('never reads as well what fires: a state that went back says what it was, and that it recovers', () => {
  const words = ['ok', 'warn', 'crit']
  const alert = { value: 0, unit: 'state', threshold: 2, state: 'firing' as const }
  expect(valueText(alert, words)).toBe('was crit, now ok (recovering)')
  expect(valueText({ ...alert, state: 'resolved' }, words)).toBe('was crit, now ok (over)')
  expect(valueText({ ...alert, value: 2 }, words)).toBe('crit (crit)')
})
