import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem, recorded } from '../mock-api/answer'

describe('the simulator', () => {
  it('lists sweeps with how far they are, and says that all of it is simulated', async () => {
    openApp('/simulator')
    expect((await screen.findByTestId('headline')).textContent).toContain('2 sweeps, 1 not finished')
    expect(screen.getByText('simulated')).toBeTruthy()
    expect(screen.getByRole('link', { name: 'Redis before buying' })).toBeTruthy()
    expect(screen.queryByTestId('new-sweep')).toBeNull()
  })

  it('draws swap devices by load and quantity, which stand in the address', async () => {
    const router = openApp('/simulator?swapShow=p99')
    const panel = await screen.findByTestId('chart-swap-devices')
    expect(within(panel).getByRole('combobox', { name: 'Quantity of swap devices' })).toHaveProperty(
      'value',
      '99th percentile of swap-in',
    )
    await userEvent.click(within(panel).getByRole('combobox', { name: 'Load of swap devices' }))
    await userEvent.click(await screen.findByRole('option', { name: /Write-heavy/, hidden: true }))
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ swapLoad: 'write_heavy', swapShow: 'p99' }),
    )
  })

  it('starts a sweep on a service with a searched setting, and opens it', async () => {
    const sent: unknown[] = []
    const router = openApp('/simulator?service=svc-redis', async (url, request) => {
      if (request.method !== 'POST' || url.pathname !== '/v1/sweeps') return undefined
      sent.push(await request.json())
      return Response.json(recorded('/v1/sweeps/{sweep_id}', 'sweep-2'), { status: 202 })
    })
    const form = await screen.findByRole('form', { name: 'New sweep' })
    expect(await within(form).findByText(/4,096 pages sampled/)).toBeTruthy()
    await userEvent.type(within(form).getByRole('textbox', { name: /^Name/ }), 'Try')
    await userEvent.click(within(form).getByRole('button', { name: /settings/ }))
    await userEvent.type(within(form).getByLabelText('Value of demote_scale_factor'), '100, 400')
    expect(screen.getByTestId('run-count').textContent).toBe('12 runs for the grid, 12 for the knob search')
    await userEvent.click(within(form).getByRole('button', { name: 'Start sweep' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/simulator/sweep-2'))
    expect(sent[0]).toMatchObject({
      name: 'Try',
      source: { kind: 'service', service_id: 'svc-redis' },
      search: { demote_scale_factor: [100, 400] },
    })
  })

  it('says what is wrong with an uploaded trace, row and all', async () => {
    openApp('/simulator?new=on', (url, request) =>
      request.method === 'POST' && url.pathname.startsWith('/v1/simulator/uploads')
        ? problem(422, 'row 17: the page number is negative', 'Correct the row, then upload again.')
        : undefined,
    )
    await userEvent.click(await screen.findByRole('radio', { name: 'Uploaded trace' }))
    expect(await screen.findByLabelText('<b>trace</b>.parquet')).toBeTruthy()
    const file = new File(['PAR1'], 'bad.parquet')
    const input = document.querySelector<HTMLInputElement>('input[type="file"]')
    if (input === null) throw new Error('there is no file input')
    await userEvent.upload(input, file, { applyAccept: false })
    expect((await screen.findByRole('alert')).textContent).toContain('Row 17')
  })
})

describe('a sweep', () => {
  it('answers first, then shows the grid, the frontier and the search', async () => {
    openApp('/simulator/sweep-1')
    await waitFor(() => expect(screen.getByTestId('headline').textContent).toContain('TPP at 1:1'))
    const grid = screen.getByTestId('sweep-grid')
    expect(within(grid).getByRole('button', { name: /^TPP at 2:1: loss 0 %/ }).textContent).toBe('0')
    expect(within(grid).getByTestId('oracle-row').textContent).toContain('97 %')
    expect(screen.getByTestId('chart-sweep-frontier')).toBeTruthy()
    expect(screen.getByTestId('knob-best').textContent).toContain('demote_scale_factor=200')
    expect(screen.queryByTestId('sweep-progress')).toBeNull()
  })

  it('keeps metric and chosen cell in the URL', async () => {
    const router = openApp('/simulator/sweep-1')
    await userEvent.click(await screen.findByRole('button', { name: /^TPP at 1:1/ }))
    expect(await screen.findByTestId('chart-replay')).toBeTruthy()
    await userEvent.click(screen.getByRole('radio', { name: 'Ping-pong' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ run: 'tpp-0.50', metric: 'pingpong' }))
  })

  it('tells pending from failed while it runs, and can be cancelled', async () => {
    const steered: string[] = []
    openApp('/simulator/sweep-2', (url, request) => {
      if (request.method !== 'POST') return undefined
      steered.push(url.pathname)
      return Response.json({ ...recorded('/v1/sweeps/{sweep_id}', 'sweep-2'), status: 'cancelled' })
    })
    const grid = await screen.findByTestId('sweep-grid')
    await waitFor(() => expect(within(grid).getAllByLabelText(/not simulated yet/)).toHaveLength(2))
    expect(within(grid).getAllByLabelText(/failed, row 17/)).toHaveLength(3)
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }))
    await waitFor(() => expect(steered).toEqual(['/v1/sweeps/sweep-2/cancel']))
  })

  it('is deleted after asking, and leads back to the list', async () => {
    const deleted: string[] = []
    const router = openApp('/simulator/sweep-1', (url, request) => {
      if (request.method !== 'DELETE') return undefined
      deleted.push(url.pathname)
      return new Response(null, { status: 204 })
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Delete' }))
    expect(deleted).toEqual([])
    await userEvent.click(await screen.findByRole('button', { name: 'Delete this sweep' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/simulator'))
    expect(deleted).toEqual(['/v1/sweeps/sweep-1'])
  })

  it('explains a sweep that is not there', async () => {
    openApp('/simulator/none')
    expect((await screen.findByTestId('problem-state')).textContent).toContain('no sweep none')
  })
})
