import { describe, expect, it } from 'vitest'
import { tcoAnswer } from '../../mock-api/tco'
import { inputWords, partLabel, tcoSentence } from './tcoWords'

describe('the words of a cost', () => {
  it('say what is saved, how surely, and of which day prices are', () => {
    const answer = tcoAnswer(true)
    const [option] = answer.options
    expect(tcoSentence(answer, option, option)).toBe(
      '2:1 with CXL saves $206 per host and year for the same work (5.62 %); the chance that it saves is 83 %. DRAM at its price of 2025-12-01.',
    )
    expect(
      tcoSentence(answer, option === undefined ? option : { ...option, saving: -20, saving_ratio: -0.005 }, undefined),
    ).toBe(
      '2:1 with CXL costs $20.00 more per host and year for the same work (0.5 %). DRAM at its price of 2025-12-01.',
    )
  })

  it('give no total without a price of DRAM', () => {
    expect(tcoSentence(tcoAnswer(false), undefined, undefined)).toBe('No total yet: confirm a price of DRAM first.')
  })

  it('name parts and inputs, known and new', () => {
    expect([partLabel('cxl_media'), partLabel('some_new_part')]).toEqual(['CXL media', 'some new part'])
    const { inputs } = tcoAnswer(true)
    expect(inputWords('loss', inputs).text(0.005)).toBe('0.5 %')
    expect(inputWords('dram', inputs)).toMatchObject({ label: 'DRAM' })
    expect(inputWords('dram', inputs).text(9)).toBe('9 USD per GB')
  })
})
