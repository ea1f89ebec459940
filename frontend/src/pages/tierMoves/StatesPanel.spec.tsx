import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { renderBare } from '../../mock-api/render'
import { StatesPanel } from './StatesPanel'

function show(found: Parameters<typeof StatesPanel>[0]['ledger']) {
  renderBare(<StatesPanel ledger={found} />)
  return screen.getByTestId('tiering-states')
}

describe('StatesPanel', () => {
  it('says how long each state held and draws when', () => {
    const panel = show(recorded('/v1/hosts/{host_id}/ledger'))
    const states = within(panel).getByRole('list', { name: 'How long each state held' })
    expect(states.textContent).toContain('healthy60 % · 3 h 36 min')
    expect(states.textContent).toContain('ping-pong40 % · 2 h 24 min')
    const stretches = within(panel).getByRole('img', { name: 'States over time' }).children
    expect([...stretches].map((stretch) => stretch.getAttribute('data-state'))).toEqual(['healthy', 'futile_ping_pong'])
    expect((stretches[1] as HTMLElement).style.left).toBe('60%')
  })

  it('gives the time of several hosts as a share alone: their hours add up beyond the range', () => {
    const panel = show({ ...recorded('/v1/hosts/{host_id}/ledger'), n_hosts: 12 })
    const states = within(panel).getByRole('list', { name: 'How long each state held' })
    expect(states.textContent).toContain('healthy60 % of the time of 12 hosts')
    expect(states.textContent).not.toContain(' h ')
  })

  it('lists the services of a host that has several', () => {
    const service = {
      service_id: 's1',
      verdict: 'stalled',
      explanation: 'Slow memory serves 40 %.',
      states: [],
      moves: [],
    }
    const services = [
      { ...service, service: 'shop/redis' },
      { ...service, service_id: 's2', service: 'shop/web', verdict: 'healthy' },
    ]
    const rows = within(show({ ...recorded('/v1/hosts/{host_id}/ledger'), services })).getAllByRole('row')
    expect(rows.map((row) => row.textContent)).toEqual(['shop/redisstalled', 'shop/webhealthy'])
  })

  it('draws no ribbon where nothing was judged', () => {
    const found = recorded('/v1/hosts/{host_id}/ledger')
    const panel = show({ ...found, ping_pong: { ...found.ping_pong, verdict: 'not_known', states: [], ribbon: [] } })
    expect(within(panel).queryByRole('img', { name: 'States over time' })).toBeNull()
    expect(panel.textContent).toContain('not known')
  })
})
