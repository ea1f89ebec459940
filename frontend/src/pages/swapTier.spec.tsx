import { screen, within } from '@testing-library/react'
import { expect, it } from 'vitest'
import userEvent from '@testing-library/user-event'
import { recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

it('says whether swap pays for a service at the loss that is chosen, by age of cold memory, with what it assumes', async () => {
  const asked: (string | null)[] = []
  openApp('/services/svc-redis?tab=advice&loss=0.02', ({ pathname, searchParams }) => {
    if (pathname.endsWith('/swap-tier')) asked.push(searchParams.get('loss_target'))
    return undefined
  })
  const panel = within(await screen.findByTestId('swap-tier'))
  expect(await panel.findByText('pays')).toBeTruthy()
  expect(panel.getByText(/it frees 25.0 GiB/)).toBeTruthy()
  const [, first, second] = panel.getAllByRole('row')
  expect(first?.textContent).not.toContain('best')
  expect(second?.textContent).toContain('best')
  expect(second?.textContent).toContain('$520 ($208 to $884)')
  expect(screen.getByText(/Busy cores: 3; one for each host/)).toBeTruthy()
  expect(panel.getByText(/Swap is cheaper than CXL for this memory/)).toBeTruthy()
  const hosts = within(screen.getByTestId('swap-hosts'))
  expect(hosts.getByText(/no TRIM, 25.*used/)).toBeTruthy()
  expect(hosts.getByText('not counted')).toBeTruthy()
  expect(asked).toEqual(['0.02'])
})

it('folds the ages away where swap is not worth it, until they are asked for', async () => {
  openApp('/services/svc-redis?tab=advice', ({ pathname }) =>
    pathname.endsWith('/swap-tier')
      ? Response.json({ ...recorded('/v1/services/{service_id}/swap-tier', 'svc-redis'), verdict: 'keep_out' })
      : undefined,
  )
  const panel = within(await screen.findByTestId('swap-tier'))
  expect(await panel.findByText('keep out')).toBeTruthy()
  expect(panel.queryByRole('row')).toBeNull()
  await userEvent.click(panel.getByRole('button', { name: /^Show \d+ ages of cold memory/ }))
  expect(panel.getAllByRole('row').length).toBeGreaterThan(1)
})

it('comes below the answer, and only with it, so that nothing moves', async () => {
  openApp('/services/svc-redis?tab=advice', ({ pathname }) =>
    pathname.endsWith('/ratio') ? new Promise<Response>(() => undefined) : undefined,
  )
  await screen.findByTestId('ratio-answer')
  for (const below of ['swap-tier', 'slowdown-points', 'ratio-candidates'])
    expect(screen.queryByTestId(below)).toBeNull()
})

it('says why it is not known', async () => {
  openApp('/services/svc-batch?tab=advice')
  const panel = within(await screen.findByTestId('swap-tier'))
  expect(await panel.findByText(/there is nothing to put on swap/)).toBeTruthy()
  expect(panel.queryByText('pays')).toBeNull()
})
