import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem, recorded } from '../mock-api/answer'
import type { ScenarioDocument, ScenarioPresets, TcoAnswer } from '../api/_generated/schema'

const price = '%7B%22value%22%3A11%2C%22source%22%3A%22contract%22%2C%22date%22%3A%222025-12-01%22%7D'
const priced = `/tco?set=%7B%22prices.dram%22%3A${price}%7D`

const answerOf = (priced: boolean) => recorded('/v1/tco/evaluate', '', priced ? 'prices=dram' : '')

/** Opens the app on a service that gives totals once the scenario has a price of DRAM, and notes what it was asked. */
function openTco(path: string, change = (answer: TcoAnswer) => answer, presets?: ScenarioPresets) {
  const asked: { spec: ScenarioDocument }[] = []
  const router = openApp(path, async (url, request) => {
    if (presets !== undefined && url.pathname === '/v1/scenarios/presets') return Response.json(presets)
    if (url.pathname !== '/v1/tco/evaluate') return undefined
    const { spec } = (await request.json()) as { spec: ScenarioDocument }
    asked.push({ spec })
    return Response.json(change(answerOf(spec.prices.dram != null)))
  })
  return { router, asked }
}

describe('the TCO page', () => {
  it('shows no total before somebody confirmed a price of DRAM', async () => {
    openTco('/tco')
    expect((await screen.findByTestId('headline')).textContent).toBe('No total yet: confirm a price of DRAM first.')
    expect(screen.getByTestId('tco-missing').textContent).toContain('fivefold')
    expect(screen.queryByTestId('tco-results')).toBeNull()
    expect(screen.getByTestId('tco-price-date').textContent).toContain('no price confirmed')
  })

  it('takes a confirmed price with its source and day into the link', async () => {
    const { router } = openTco('/tco')
    await userEvent.click(
      within(await screen.findByTestId('tco-missing')).getByRole('button', { name: 'Confirm a price' }),
    )
    const dialog = await screen.findByRole('dialog')
    expect((await within(dialog).findByRole<HTMLInputElement>('radio', { name: /contract 17/ })).disabled).toBe(true)
    const confirm = within(dialog).getByRole<HTMLButtonElement>('button', { name: 'Confirm this price' })
    expect(confirm.disabled).toBe(true)
    await userEvent.click(within(dialog).getByRole('radio', { name: /late 2025/ }))
    await userEvent.click(confirm)
    expect((await screen.findByTestId('tco-saving')).textContent).toContain('+$190')
    expect(router.state.location.search).toMatchObject({
      set: { 'prices.dram': { value: 11, low: 9, high: 14, source: 'market report', date: '2025-12-01' } },
    })
  })

  it('gives the saving with its chance, its parts, what decides and where it breaks even', async () => {
    openTco(priced)
    expect((await screen.findByTestId('tco-chance')).textContent).toContain('83 %')
    for (const chart of ['cost-waterfall', 'tornado', 'saving-distribution']) {
      expect(screen.getByTestId(`chart-${chart}`)).toBeTruthy()
    }
    expect(screen.getByTestId('tco-break-even').textContent).toContain('6.09 %')
    expect(screen.getByTestId('tco-sanity').textContent).toContain('Pond')
    expect(screen.getByTestId('tco-price-date').textContent).toContain('2025-12-01')
    await userEvent.click(screen.getByText('Fleet', { selector: 'label *' }))
    expect(screen.getByTestId('tco-machines').textContent).toContain('1,006')
  })

  it('asks with a changed input, keeps it in the link, and puts it back', async () => {
    const { router, asked } = openTco(priced)
    const loss = await screen.findByRole('textbox', { name: 'Lost throughput, %' })
    await userEvent.clear(loss)
    await userEvent.type(loss, '2{Enter}')
    await waitFor(() => expect(asked.at(-1)?.spec.options[0]?.loss).toMatchObject({ value: 0.02, low: 0, high: 0.05 }))
    expect(router.state.location.search).toMatchObject({ set: { 'options.0.loss.value': 0.02 } })
    await userEvent.click(screen.getByRole('button', { name: 'Reset Lost throughput' }))
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty(['set', 'options.0.loss.value']))
  })

  it('shows only the tiers that an option has, and adds one that is switched on', async () => {
    openTco(priced)
    await screen.findByTestId('tco-saving')
    expect(screen.queryByRole('textbox', { name: 'Swap drive, GB' })).toBeNull()
    await userEvent.click(screen.getByRole('switch', { name: 'Swap drive' }))
    expect(await screen.findByRole('textbox', { name: 'Swap drive, GB' })).toBeTruthy()
  })

  it('warns where a claim needs a second look', async () => {
    openTco(priced, (answer) => ({
      ...answer,
      options: answer.options.map((option) => ({
        ...option,
        warnings: ['It saves 21.9% per host. Published: 7 % of the cost of DRAM (Pond, 2023).'],
      })),
    }))
    expect((await screen.findByTestId('tco-warning')).textContent).toContain('Published')
  })

  it('starts from the hosts of the fleet with one click, and keeps the prices that were stated', async () => {
    const { router, asked } = openTco(priced)
    const bar = within(await screen.findByTestId('tco-presets'))
    expect(await bar.findByText('Your fleet: 33 hosts, 700 GiB DRAM + 68 GiB slower (91.1 % DRAM) each')).toBeTruthy()
    await userEvent.click(await bar.findByRole('link', { name: 'CXL at the advised ratio' }))
    await waitFor(() => expect(asked.at(-1)?.spec.fleet?.hosts).toBe(33))
    expect(asked.at(-1)?.spec).toMatchObject({ options: [{ dram_gb: 384 }], prices: { dram: { value: 11 } } })
    expect(router.state.location.search).toMatchObject({ start: 'cxl', set: { 'prices.dram': { value: 11 } } })
    expect(bar.getByRole('button', { name: 'Reused DDR4 behind CXL' }).getAttribute('aria-disabled')).toBe('true')
  })

  it('opens on the hosts of the fleet, with the example a click away', async () => {
    const { asked } = openTco('/tco')
    await waitFor(() => expect(asked.at(-1)?.spec.fleet?.hosts).toBe(33))
    expect(asked.map(({ spec }) => spec.fleet?.hosts)).not.toContain(1000)
    await userEvent.click(await screen.findByRole('link', { name: 'an example of 1,000 hosts' }))
    await waitFor(() => expect(asked.at(-1)?.spec.fleet?.hosts).toBe(1000))
  })

  it('opens on the hosts of the fleet as they are, where no advice is there yet', async () => {
    const found = recorded('/v1/scenarios/presets')
    const presets = found.presets.map((one) =>
      one.key === 'today' ? one : { ...one, spec: null, why_not: 'none yet' },
    )
    const { asked } = openTco('/tco', undefined, { ...found, presets })
    await waitFor(() => expect(asked.at(-1)?.spec.name).toBe('Today: fleet'))
    const bar = within(await screen.findByTestId('tco-presets'))
    expect((await bar.findByRole('link', { name: /^Today/ })).getAttribute('aria-current')).toBe('true')
    expect(bar.getByRole('link', { name: /example/ }).getAttribute('aria-current')).toBeNull()
  })

  it('starts from the service that the link names', async () => {
    const { asked } = openTco('/tco?start=cxl&service=svc-1&share=0.5')
    await waitFor(() => expect(asked.at(-1)?.spec.name).toBe('CXL at the advised ratio: fleet'))
    expect((await screen.findByTestId('tco-presets')).textContent).toContain('shop/web: 33 hosts')
  })

  it('sets stored scenarios beside each other', async () => {
    openTco('/tco/s-1?compare=s-1%2Cs-2')
    expect((await screen.findByTestId('chart-cost-bars')).textContent).toContain('Yearly cost of a host')
    expect(
      (await screen.findByRole('region', { name: 'Where the scenarios differ as a table' })).textContent,
    ).toContain('options[0].cxl.gb')
  })

  it('says why a scenario could not be saved', async () => {
    openApp(priced, (url, request) =>
      request.method === 'POST' && url.pathname === '/v1/scenarios'
        ? problem(401, 'nobody is logged in', 'Log in as an operator.')
        : undefined,
    )
    await userEvent.click(await screen.findByRole('button', { name: 'Save as…' }))
    await userEvent.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Save' }))
    expect((await screen.findByRole('alert')).textContent).toContain('Log in as an operator.')
  })
})
