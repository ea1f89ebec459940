import { describe, expect, it } from 'vitest'
import { blankReport, reportRequestOf } from './reportEntry'

const filled = { ...blankReport, mail: 'ana@example.org, team@example.org' }

describe('a scheduled report', () => {
  it('goes to all addresses, by a schedule in UTC', () => {
    expect(reportRequestOf(filled)).toEqual({
      name: 'Weekly report',
      every_days: 7,
      at: '07:00',
      format: 'both',
      to: { mail: ['ana@example.org', 'team@example.org'], webhook: null },
      sections: ['capacity', 'advice', 'alerts'],
    })
  })

  it.each([
    ['nobody to send it to', { mail: ' ' }],
    ['an address that is none', { mail: 'ana' }],
    ['nothing in it', { sections: [] }],
    ['half a day', { everyDays: 0.5 }],
    ['a time that is none', { at: '25:00' }],
    ['no name', { name: ' ' }],
  ])('is none with %s', (_, change) => {
    expect(reportRequestOf({ ...filled, ...change })).toBeNull()
  })
})
