import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { inputWords, partLabel, tcoSentence } from './tcoWords'

describe('the words of a cost', () => {
  it('say what is saved, how surely, and of which day prices are', () => {
    const answer = recorded('/v1/tco/evaluate', '', 'prices=dram')
    const [option] = answer.options
    expect(tcoSentence(answer, option)).toBe(
      '2:1 with CXL saves $190 per host and year for the same work, 5.17 % of today’s cost (80 % interval −$40.00 to +$330); the chance that it saves is 83 %. DRAM at its price of 2025-12-01.',
    )
    if (option === undefined) throw new Error('the mock has an option')
    const certain = { ...option.distribution, p10: -20, p50: -20, p90: -20 }
    expect(tcoSentence(answer, { ...option, saving: -20, saving_ratio: -0.005, distribution: certain })).toBe(
      '2:1 with CXL costs $20.00 more per host and year for the same work, 0.5 % of today’s cost. DRAM at its price of 2025-12-01.',
    )
  })

  it('give no total without a price of DRAM', () => {
    expect(tcoSentence(recorded('/v1/tco/evaluate'), undefined)).toBe('No total yet: confirm a price of DRAM first.')
  })

  it('name parts and inputs, known and new', () => {
    expect([partLabel('cxl_media'), partLabel('some_new_part')]).toEqual(['CXL media', 'some new part'])
    const { inputs } = recorded('/v1/tco/evaluate', '', 'prices=dram')
    expect(inputWords('loss', inputs).text(0.005)).toBe('0.5 %')
    expect(inputWords('dram', inputs)).toMatchObject({ label: 'DRAM' })
    expect(inputWords('dram', inputs).text(9)).toBe('9 USD per GiB')
  })
})
