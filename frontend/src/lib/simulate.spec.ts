import { describe, expect, it } from 'vitest'
import { ratioName, ratioPresets, runCommand, settingsText, unclaimedText } from './simulate'

describe('DRAM shares', () => {
  it('are named by the ratio that they are the share of', () => {
    expect(ratioPresets.map(({ dramRatio }) => ratioName(dramRatio))).toEqual([
      '8:1',
      '4:1',
      '2:1',
      '1:1',
      '1:2',
      '1:4',
    ])
    expect(ratioName(0.6667)).toBe('2:1')
    expect(ratioName(0.7)).toBe('70 %')
    expect(ratioName(1)).toBe('all DRAM')
  })
})

describe('a run', () => {
  it('is repeated by a command with its settings and seed', () => {
    expect(runCommand('tpp', 2 / 3, { demote_scale_factor: 400 }, 7)).toBe(
      'tierscope simulate TRACE.parquet --policy tpp --dram-share 0.666667 --set demote_scale_factor=400 --seed 7 --json',
    )
    expect(settingsText({ a: 1, b: 0.5 })).toBe('a=1 b=0.5')
  })

  it('says why its share has no interval and its moves are not claimed, and nothing else that its figures warn of', () => {
    const run = (local: string[], moves: string[]) =>
      unclaimedText({ local_ratio: { warnings: local }, promoted_pages_per_s: { warnings: moves } })
    expect(run(['Simulated: so.'], ['Simulated: so.'])).toBeNull()
    expect(run(['Simulated: so.', 'No interval: a.'], ['Moves are not claimed: b.'])).toBe(
      'No interval: a. Moves are not claimed: b.',
    )
  })
})
