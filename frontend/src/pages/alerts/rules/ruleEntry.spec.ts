import { describe, expect, it } from 'vitest'
import { recorded } from '../../../mock-api/answer'
import { blankRule, entryOfRule, problemColumn, requestOfEntry, requestOfRule } from './ruleEntry'

const rules = recorded('/v1/rules').items

const [first] = rules
if (first === undefined) throw new Error('the mock has no rule')

describe('a rule in the editor', () => {
  it('comes back as it was', () => {
    expect(requestOfEntry(entryOfRule(first))).toEqual(requestOfRule(first))
  })

  it('says which field cannot be read', () => {
    expect(requestOfEntry({ ...blankRule(), matchers: 'rack a12' })).toContain('Labels of the scope')
    expect(requestOfEntry({ ...blankRule(), labels: 'team=~"a.*"' })).toContain('one value')
  })

  it('counts minutes, and drops the recovery that is not chosen', () => {
    const entry = { ...entryOfRule(first), forMinutes: 2, recovery: 'none' as const, counted: true, n: 2, m: 4 }
    expect(requestOfEntry(entry)).toMatchObject({
      for_seconds: 120,
      recovery_threshold: null,
      n_of_m: { n: 2, m: 4 },
    })
  })
})

it('finds the column of a problem in the condition', () => {
  expect(problemColumn('expression:12')).toBe(12)
  expect(problemColumn('name')).toBeNull()
})
