import { screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

describe('a host that no agent reports', () => {
  it('is not told to look at one', async () => {
    openApp('/hosts/h-1', (url) => {
      if (url.pathname !== '/v1/hosts/h-1') return undefined
      const host = recorded('/v1/hosts/{host_id}', 'h-1')
      const summary = { ...host.summary, state: 'late', origin: 'live', agent_version: null }
      return Response.json({ ...host, summary, nodes: [], headline: 'db1 waits 14.4% of its time.' })
    })
    expect((await screen.findByTestId('headline')).textContent).toBe('db1 waits 14.4 % of its time.')
    const late = await screen.findByTestId('suffering-late')
    expect(within(late).getByRole('link').textContent).toBe('see what reports it')
    expect(screen.getByTestId('topology').textContent).toContain('Nothing that reports this host sends its nodes.')
  })
})

describe('the list of services', () => {
  it('is sorted by the saving that it shows', async () => {
    const service = recorded('/v1/services').items[0]
    const gain = service?.gain
    const saving = (name: string, net_per_year: number, net_per_year_p10: number) => ({
      ...service,
      id: name,
      name,
      gain: { ...gain, how: 'proven', net_per_year, net_per_year_p10, net_per_year_p90: 2 * net_per_year },
    })
    openApp('/services', (url) =>
      url.pathname === '/v1/services'
        ? Response.json({ ...recorded('/v1/services'), items: [saving('web', 728, 372.4), saving('search', 773, 372)] })
        : undefined,
    )
    await waitFor(() => {
      const names = screen.getAllByRole('row').map((row) => row.querySelector('a')?.textContent)
      expect(names.filter(Boolean)).toEqual(['search', 'web'])
    })
  })
})
