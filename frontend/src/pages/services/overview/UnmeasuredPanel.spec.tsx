import { screen, within } from '@testing-library/react'
import { expect, it } from 'vitest'
import { recorded } from '../../../mock-api/answer'
import { openApp } from '../../../mock-api/render'

it('lists the processes that are not measured with the reason, on the page of the service and of the host', async () => {
  openApp('/services/svc-feed')
  const panel = await screen.findByTestId('not-measured')
  expect(within(panel).getByRole('link').textContent).toBe('rack1-node03')
  expect(panel.textContent).toContain('1 of 2 processes is not measured')
})

it('says on the page of a host which of the processes of a measured service are not', async () => {
  const reason = '1 of 2 processes is not measured: too large'
  const detail = recorded('/v1/hosts/{host_id}')
  const services = detail.services.map((service) =>
    service.heat_measured ? { ...service, heat_reason: reason } : service,
  )
  openApp('/hosts/h-1', (url) =>
    url.pathname === '/v1/hosts/h-1' ? Response.json({ ...detail, services }) : undefined,
  )
  expect((await screen.findAllByText(reason)).length).toBeGreaterThan(0)
})
