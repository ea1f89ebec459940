import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem } from '../mock-api/answer'

describe('pods', () => {
  it('are listed on their host with owners, labels and what is not known', async () => {
    openApp('/hosts/h-1')
    const panel = await screen.findByTestId('host-pods')
    const first = (await within(panel).findByText('redis-sessions-0')).closest('tr')
    expect(first?.textContent).toContain('StatefulSet redis-sessions')
    expect(first?.textContent).toContain('team=<b>=cmd()</b>')
    expect(within(panel).getByText('log-shipper (by name)')).toBeTruthy()
    expect(within(panel).getByText('uid e0c2b7f4-66a1-4a0e-8c9b-7d1f6a2b9e44')).toBeTruthy()
    expect(panel.textContent).toContain('Not all is known: the API server refuses (403)')
  })

  it('are not spoken of on hosts of no cluster', async () => {
    openApp('/hosts/h-2')
    await screen.findByText('Services on this host')
    expect(screen.queryByTestId('host-pods')).toBeNull()
  })

  it('stand with their hosts on a service, whose header names the workload', async () => {
    openApp('/services/svc-redis?tab=hosts')
    const panel = await screen.findByTestId('service-pods')
    expect(await within(panel).findByText('redis-sessions-1')).toBeTruthy()
    expect(within(panel).getAllByRole('link', { name: 'rack1-node01' })).toHaveLength(2)
    expect(screen.getByTestId('workload').textContent).toBe('StatefulSet redis-sessions')
  })

  it('may be none, or fail to load', async () => {
    openApp('/services/svc-pg?tab=hosts')
    expect(await within(await screen.findByTestId('service-pods')).findByText('No pods')).toBeTruthy()
    expect(screen.queryByTestId('workload')).toBeNull()
  })

  it('say why they cannot be shown', async () => {
    openApp('/services/svc-redis?tab=hosts', (url) =>
      url.pathname.endsWith('/pods') ? problem(503, 'The database rests.', 'Try again.') : undefined,
    )
    expect(await within(await screen.findByTestId('service-pods')).findByRole('alert')).toBeTruthy()
  })
})
