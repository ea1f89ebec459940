import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { capacity } from '../mock-api/capacity'
import { fleet, fleetGrid } from '../mock-api/fleet/fleet'
import { hosts } from '../mock-api/fleet/hosts'
import { openApp } from '../mock-api/render'

const away = { nodes: ['n2'], hosts_away: 8, counted_at: '2026-11-27T15:02:00Z' }
const words = /8 more are on node n2, which is away \(counted .+\)/

function openWithNodeAway(path: string, lacks: typeof away | { nodes: string[]; hosts_away: null; counted_at: null }) {
  return openApp(path, (url) => {
    if (url.pathname === '/v1/hosts') return Response.json({ items: hosts, next_cursor: null, away: lacks })
    if (url.pathname === '/v1/fleet') return Response.json({ ...fleet(), away: lacks })
    if (url.pathname === '/v1/fleet/grid') return Response.json({ ...fleetGrid(), away: lacks })
    if (url.pathname === '/v1/capacity') return Response.json({ ...capacity('service'), away: lacks })
    return undefined
  })
}

describe('counts of hosts while a database node is away', () => {
  it('stand beside the hosts that the page Hosts lacks', async () => {
    openWithNodeAway('/hosts', away)
    const sentence = await screen.findByText(/16 of 18 visible hosts report; 1 late, 1 silent; 8 more/)
    expect(sentence.textContent).toMatch(words)
  })

  it('say the same in the kiosk', async () => {
    openWithNodeAway('/hosts?kiosk=1', away)
    const bar = await screen.findByTestId('kiosk-bar')
    await within(bar).findByText('16 of 18 visible hosts reporting')
    expect(within(bar).getByText(words)).toBeTruthy()
  })

  it('say the same in the fleet overview', async () => {
    openWithNodeAway('/', away)
    expect(await screen.findByText('Visible hosts reporting')).toBeTruthy()
    expect(screen.getByText(words)).toBeTruthy()
  })

  it('say on Capacity what its totals lack', async () => {
    openWithNodeAway('/capacity', away)
    expect(await screen.findByText(/8 more hosts are on node n2, which is away \(counted .+\)\./)).toBeTruthy()
  })

  it('say that nobody knows how many hosts are away', async () => {
    openWithNodeAway('/hosts', { nodes: ['n2'], hosts_away: null, counted_at: null })
    expect(await screen.findByText(/how many more are on node n2, which is away, is not known\.$/)).toBeTruthy()
  })
})
