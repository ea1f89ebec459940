import { cleanup, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'

afterEach(cleanup)

describe('slow memory that a ratio is asked for', () => {
  it('is a known kind with its source, or one of a latency and a bandwidth, kept in the address', async () => {
    const asked: URLSearchParams[] = []
    const router = openApp('/services/svc-redis?tab=advice', (url) => {
      if (url.pathname.endsWith('/ratio')) asked.push(url.searchParams)
      return undefined
    })
    await screen.findByTestId('ratio-sentence')
    expect(asked.at(-1)?.has('device')).toBe(false)
    await userEvent.click(screen.getByRole('combobox', { name: 'Slow memory' }))
    await userEvent.click(await screen.findByRole('option', { name: 'CXL expander with an ASIC' }))
    await waitFor(() => expect(asked.at(-1)?.get('device')).toBe('cxl-asic'))
    expect(screen.getByTestId('slow-memory-source').textContent).toBe('250 ns, 26 GB/s · a paper, 2025-01')
    await userEvent.click(screen.getByRole('combobox', { name: 'Slow memory' }))
    await userEvent.click(await screen.findByRole('option', { name: /latency and bandwidth/ }))
    await waitFor(() => expect(asked.at(-1)?.get('slow_latency_ns')).toBe('250'))
    expect(asked.at(-1)?.has('device')).toBe(false)
    await userEvent.type(screen.getByRole('textbox', { name: 'Bandwidth' }), '24')
    await waitFor(() => expect(asked.at(-1)?.get('slow_gb_per_s')).toBe('24'))
    expect(router.state.location.search).toMatchObject({ device: '250~24' })
  })
})
