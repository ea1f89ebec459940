import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { capacitySentence } from './capacitySentence'

const all = recorded('/v1/capacity')
const [full, never, young] = all.subjects

describe('the first line of the capacity page', () => {
  it('names who runs full first, when, and how many cannot be told', () => {
    expect(capacitySentence(all)).toBe(
      'prod/checkout may reach 90 % of the memory in 41.3 days (11 Feb 2026), at the earliest in 33 days (3 Feb 2026). 1 of 3 has too little data to tell.',
    )
    const two = [full, full, never].flatMap((subject) => subject ?? [])
    expect(capacitySentence({ ...all, subjects: two })).toContain(
      '2 of 3 services may reach 90 % of the memory within 90',
    )
  })

  it('says who is full already, and tells hours where few are left', () => {
    const [subject] = [full].flatMap((one) => one ?? [])
    const exhaustion = subject?.days_to_exhaustion
    if (subject === undefined || exhaustion === undefined) throw new Error('no subject is recorded')
    const left = (median: number, early: number) => ({
      ...subject,
      days_to_exhaustion: {
        ...exhaustion,
        median: { ...exhaustion.median, value: median },
        early: { ...exhaustion.early, value: early },
      },
    })
    expect(capacitySentence({ ...all, subjects: [left(0, 0)] })).toBe(
      'prod/checkout holds 90 % of the memory or more now.',
    )
    expect(capacitySentence({ ...all, subjects: [left(0, 0), left(0, 0), left(0.25, 0)] })).toBe(
      '2 of 3 services hold 90 % of the memory or more now. prod/checkout may reach 90 % of the memory in 6 h (11 Feb 2026), at the earliest today.',
    )
  })

  it('says that nobody does, which is an answer', () => {
    const subjects = [never].flatMap((subject) => subject ?? [])
    expect(capacitySentence({ ...all, subjects })).toBe('No service reaches 90 % of the memory within 90 days.')
  })

  it('does not take too little data for plenty of room', () => {
    const subjects = [young].flatMap((subject) => subject ?? [])
    expect(capacitySentence({ ...all, subjects })).toContain('too little data to tell')
    expect(capacitySentence({ ...all, group_by: 'sku', subjects: [] })).toBe('No host group has been measured yet.')
  })
})
