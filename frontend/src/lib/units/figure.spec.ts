import { describe, expect, it } from 'vitest'
import { intervalWords, measuredBy, methodName, shortMethodName } from './figure'

describe('how heat was measured', () => {
  it('names back end, granularity and interval', () => {
    const by = (backend: string, granularity: string, seconds: number | null) =>
      measuredBy({ backend, granularity, interval_seconds: seconds })
    expect(by('damon_pages', 'page', 60)).toBe('DAMON, single pages, every 1 min')
    expect(by('referenced', 'vma', 10)).toBe('referenced bytes, whole mappings, every 10 s')
    expect(by('none', 'none', null)).toBe('not measured')
  })

  it('has words for every back end of the contract', () => {
    for (const backend of [
      'pebs',
      'ibs',
      'spe',
      'abit_walk',
      'idle_page',
      'damon_pages',
      'damon_regions',
      'referenced',
    ])
      expect(methodName(backend)).not.toBe(backend)
    expect(shortMethodName('damon_regions')).toBe('DAMON')
  })

  it('writes short and long intervals', () => {
    expect([10, 60, 90, 0.5].map(intervalWords)).toEqual(['10 s', '1 min', '1.5 min', '0.5 s'])
  })
})
