import { expect, it } from 'vitest'
import { readAdviceSearch, readIds, toggleId } from './adviceUrl'

it('gives back the plan that was picked, and drops what it cannot read', () => {
  const search = { tab: 'plan', change: 'vm_swappiness_40', pick: 'vm_swappiness_40,a_1', without: 'h1' }
  expect(readAdviceSearch(search)).toMatchObject(search)
  expect(readAdviceSearch({ tab: 'all', pick: {} })).toMatchObject({ tab: undefined, pick: undefined })
})

it('takes ids in and out of a list', () => {
  expect(toggleId(undefined, 'a')).toBe('a')
  expect(toggleId('a,b', 'a')).toBe('b')
  expect(toggleId('a', 'a')).toBeUndefined()
  expect(readIds('a,,b,a')).toEqual(['a', 'b'])
})
