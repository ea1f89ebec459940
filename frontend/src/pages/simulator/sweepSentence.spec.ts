import { describe, expect, it } from 'vitest'
import type { SweepCell } from '../../api/_generated/schema'
import { recorded } from '../../mock-api/answer'
import { sweepSentence } from './sweepSentence'

function found(id: string) {
  const one = recorded('/v1/sweeps/{sweep_id}', id)
  if (one === undefined) throw new Error(`the mock service has no sweep ${id}`)
  return one
}

function said(change: (cell: SweepCell) => SweepCell): string {
  const results = recorded('/v1/sweeps/{sweep_id}/results', 'sweep-1')
  return sweepSentence(found('sweep-1'), { ...results, cells: results.cells.map(change) })
}

/** The results with another upper end of the loss of TPP at 1:1. */
function withUpperEnd(hi: number | null): string {
  return said((cell) =>
    cell.run_id === 'tpp-0.50'
      ? {
          ...cell,
          loss: { ...cell.loss, interval: hi === null ? null : { lo: 0, hi, level: 0.9, kind: 'confidence' } },
        }
      : cell,
  )
}

describe('the sentence of a sweep', () => {
  it('names the least DRAM that keeps the loss within 1 % at its upper end, beside default Linux', () => {
    expect(sweepSentence(found('sweep-1'), recorded('/v1/sweeps/{sweep_id}/results', 'sweep-1'))).toBe(
      'TPP at 1:1 (50 % DRAM) needs the least DRAM to lose at most 1 %, even at the upper end of the estimate: 0.6 % (upper end 0.9 %); default Linux would lose 5 % (upper end 7.5 %).',
    )
  })

  it('prefers a larger share that is sure, and says what would do by the estimate alone', () => {
    const text = withUpperEnd(0.02)
    expect(text).toMatch(/^TPP at 2:1 \(66.7 % DRAM\) needs the least DRAM to lose at most 1 %, even at the upper end/)
    expect(text).toMatch(/By the estimate alone, TPP at 1:1 \(50 % DRAM\) would do: 0.6 % \(upper end 2 %\)\.$/)
  })

  it('says that it goes by the estimate where no run is sure', () => {
    const [unsure, unknown] = [{ lo: 0, hi: 0.02, level: 0.9, kind: 'confidence' as const }, null].map((interval) =>
      said((cell) => ({ ...cell, loss: { ...cell.loss, interval } })),
    )
    expect(unsure).toMatch(
      /^By the estimate, TPP at 1:1 \(50 % DRAM\) needs .* but no run is sure to: 0.6 % \(upper end 2 %\)/,
    )
    expect(unknown).toMatch(/^By the estimate, TPP at 1:1 .* how far it may be off is unknown: 0.6 %; default/)
  })

  it('says that it is not final while runs are to come, and what is the least where none is within 1 %', () => {
    expect(sweepSentence(found('sweep-2'), recorded('/v1/sweeps/{sweep_id}/results', 'sweep-2'))).toMatch(
      /^So far: No run loses at most 1 % by the estimate; the least is Default Linux/,
    )
    expect(sweepSentence(found('sweep-2'), undefined)).toContain('1 of 6 runs')
  })
})
