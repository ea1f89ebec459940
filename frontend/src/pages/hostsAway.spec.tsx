import userEvent from '@testing-library/user-event'
import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const hostCounts = recorded('/v1/hosts').fleet
const hosts = recorded('/v1/hosts').items

const away = { nodes: ['n2'], hosts_away: 8, counted_at: '2026-11-27T15:02:00Z' }
const words = /8 more are on node n2, which is away \(counted .+\)/

function openWithNodeAway(path: string, lacks: typeof away | { nodes: string[]; hosts_away: null; counted_at: null }) {
  return openApp(path, (url) => {
    if (url.pathname === '/v1/hosts')
      return Response.json({ items: hosts, next_cursor: null, fleet: hostCounts, matching: 18, away: lacks })
    if (url.pathname === '/v1/fleet') return Response.json({ ...recorded('/v1/fleet'), away: lacks })
    if (url.pathname === '/v1/fleet/grid') return Response.json({ ...recorded('/v1/fleet/grid'), away: lacks })
    if (url.pathname === '/v1/capacity') return Response.json({ ...recorded('/v1/capacity'), away: lacks })
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

describe('a fleet of more hosts than one page of the list', () => {
  it('is counted whole, and its list says how much of it is shown and reads on', async () => {
    const first = { items: hosts.slice(0, 2), next_cursor: '2', matching: 100_000 }
    const fleetCounts = { hosts: 100_010, reporting: 99_000, late: 0, silent: 1_000, retired: 10 }
    const none = { nodes: [], hosts_away: 0, counted_at: null }
    openApp('/hosts?q=rack', (url) => {
      if (url.pathname !== '/v1/hosts') return undefined
      expect(url.searchParams.get('sort')).toBe('trouble')
      expect([url.searchParams.get('order'), url.searchParams.get('q')]).toEqual(['descending', 'rack'])
      const page = url.searchParams.get('cursor') === '2' ? { ...first, items: hosts.slice(1, 4) } : first
      return Response.json({ ...page, fleet: fleetCounts, away: none })
    })
    expect(await screen.findByText(/99,000 of 100,000 hosts report; 1,000 silent\./)).toBeTruthy()
    expect(screen.getByText('2 of 100,000 shown')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Show more hosts' }))
    expect(await screen.findByText('4 of 100,000 shown')).toBeTruthy()
  })
})
