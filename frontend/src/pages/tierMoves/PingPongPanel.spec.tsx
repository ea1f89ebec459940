import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { renderBare } from '../../mock-api/render'
import { PingPongPanel } from './PingPongPanel'

/** The panel with bounds of the share. */
function show(lo: number, hi: number): string {
  const found = recorded('/v1/hosts/{host_id}/ledger').ping_pong
  const interval = { lo, hi, level: null, kind: 'bounds' as const }
  const pingPong = { ...found, kind: 'upper_bound' as const, ratio: { ...found.ratio, value: hi, interval } }
  renderBare(<PingPongPanel pingPong={pingPong} />)
  return screen.getByTestId('ping-pong').textContent
}

describe('PingPongPanel', () => {
  it('says at least where that is more than none', () => {
    const text = show(0.57, 1)
    expect(text).toContain('at least57')
    expect(text).not.toContain('at most')
  })

  it('says at most where that is less than all', () => {
    expect(show(0, 0.3)).toContain('at most30')
  })

  it('says that any share is possible rather than at most all of it', () => {
    const text = show(0, 1)
    expect(text).toContain('any share is possible')
    expect(text).not.toContain('at most')
  })
})
