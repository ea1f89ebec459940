import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { problem, recorded } from '../mock-api/answer'
import { nothing } from '../mock-api/figures'
import { openApp } from '../mock-api/render'

describe('the capacity page', () => {
  it('says first who runs full, and tells the kinds of unknown apart', async () => {
    openApp('/capacity')
    expect((await screen.findByTestId('headline')).textContent).toContain('prod/checkout may reach 90 %')
    const table = within(await screen.findByRole('region', { name: 'Capacity' }))
    expect(table.queryByRole('columnheader', { name: /Stranded/ }), 'a property of hosts').toBeNull()
    expect(table.getAllByText('not enough data').length).toBeGreaterThan(0)
    expect(table.getAllByText('none in 90 d')).toHaveLength(2)
    expect(table.getAllByText('0 B')).toHaveLength(3)
  })

  it('draws the forecast of the chosen subject, with its method and its changes', async () => {
    const { state } = openApp('/capacity')
    await userEvent.click(await screen.findByRole('link', { name: 'prod/redis' }))
    await waitFor(() => expect(screen.getByTestId('chart-forecast').textContent).toContain('prod/redis'))
    expect(state.location.pathname).toBe('/capacity')
    const evidence = within(screen.getByTestId('capacity-forecast'))
    expect(evidence.getByText('damped holt (chosen)')).toBeTruthy()
    expect(evidence.getAllByText('not within 90 days')).toHaveLength(2)
    expect(evidence.getByText(/Deploy v2/)).toBeTruthy()
  })

  it('says in place of columns of nothing that no day is over', async () => {
    const view = recorded('/v1/capacity')
    const subjects = view.subjects.map((row) => ({ ...row, resident_bytes: { ...row.resident_bytes, window: null } }))
    openApp('/capacity', (url) => (url.pathname === '/v1/capacity' ? Response.json({ ...view, subjects }) : undefined))
    expect(await screen.findByText('No full day worked up yet')).toBeTruthy()
    expect(screen.queryByText('not collected')).toBeNull()
  })

  it('names the origin of each row where they differ', async () => {
    openApp('/capacity')
    const same = within(await screen.findByRole('region', { name: 'Capacity' }))
    await same.findByRole('link', { name: 'prod/redis' })
    expect(same.queryByText('Origin')).toBeNull()
    cleanup()
    const view = recorded('/v1/capacity')
    const subjects = view.subjects.map((row, index) => (index === 0 ? { ...row, origin: 'simulated' } : row))
    openApp('/capacity', (url) => (url.pathname === '/v1/capacity' ? Response.json({ ...view, subjects }) : undefined))
    const mixed = within(await screen.findByRole('region', { name: 'Capacity' }))
    expect(await mixed.findByText('simulated')).toBeTruthy()
    expect(mixed.getAllByText('measured')).toHaveLength(subjects.length - 1)
  })

  it('says why there is no forecast', async () => {
    openApp('/capacity?subject=svc-new')
    expect((await screen.findByTestId('forecast-refused')).textContent).toContain('a forecast needs 14')
  })

  it('keeps grouping, metric and horizon in the link', async () => {
    const router = openApp('/capacity?group=sku')
    await userEvent.click(await screen.findByText('DRAM need', { selector: 'label *' }))
    await userEvent.click(screen.getByText('30 d'))
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ group: 'sku', metric: 'dram_need', horizon: 30 }),
    )
  })

  it('plans the fleet on chosen hosts, and draws what fills them', async () => {
    openApp('/capacity?tab=plan')
    expect((await screen.findByTestId('plan-sentence')).textContent).toContain('10 hosts with tiering, 4 fewer')
    expect(screen.getByTestId('plan-unplaced').textContent).toContain('prod/huge')
    const packed = within(screen.getByTestId('chart-packing-with'))
    expect(packed.getByRole('img', { name: 'CXL: 100 GiB of 256 GiB used' })).toBeTruthy()
    await userEvent.click(packed.getByRole('button', { name: /as a table/ }))
    expect(packed.getAllByRole('cell', { name: 'free' })).toHaveLength(2)
  })

  it('holds cold memory on swap where that is chosen, with its cost, wear, waits and who is kept out', async () => {
    openApp('/capacity?tab=plan&plan=(swap~%27block)', ({ pathname }) =>
      pathname === '/v1/capacity/plan'
        ? new Response(JSON.stringify(recorded('/v1/capacity/plan', '', 'swap=block')), {
            headers: { 'Content-Type': 'application/json' },
          })
        : undefined,
    )
    expect((await screen.findByTestId('plan-sentence')).textContent).toContain('With cold memory on swap it takes 8')
    const packed = within(screen.getByTestId('chart-packing-swap'))
    expect(packed.getByRole('img', { name: 'Swap: 90 GiB of 90 GiB used' })).toBeTruthy()
    const totals = screen.getByTestId('plan-swap').textContent
    expect(totals).toContain('$12.00 ($6.00 to $24.00)')
    expect(totals).toContain('prod/huge')
    const [, first, second] = within(screen.getByTestId('plan-swap-services')).getAllByRole('row')
    expect(first?.textContent).toContain('pays')
    expect(second?.textContent).toContain('keep out')
  })

  it('asks for no plan while nothing has been measured', async () => {
    const asked: string[] = []
    openApp('/capacity?tab=plan', ({ pathname }) => {
      asked.push(pathname)
      if (pathname !== '/v1/capacity') return undefined
      const resident_bytes = nothing('capacity.resident_bytes/1', 'bytes', 'not_collected', 'No day yet.')
      const answer = recorded('/v1/capacity')
      return Response.json({ ...answer, subjects: answer.subjects.map((one) => ({ ...one, resident_bytes })) })
    })
    expect((await screen.findAllByText('Nothing to plan')).length).toBeGreaterThan(1)
    expect(asked).not.toContain('/v1/capacity/plan')
  })

  it('keeps the kinds of hosts in the link, and says what a plan lacks', async () => {
    const router = openApp('/capacity?tab=plan')
    await userEvent.click(await screen.findByRole('button', { name: 'Add a host type' }))
    await waitFor(() => expect(JSON.stringify(router.state.location.search)).toContain('type 2'))
    await userEvent.clear(within(screen.getByRole('group', { name: 'Host type type 2' })).getByLabelText('Name'))
    expect((await screen.findByTestId('plan-fault')).textContent).toBe('Every host type needs a name.')
  })

  it('lists scheduled reports, and shows one before it is sent', async () => {
    openApp('/capacity?tab=reports')
    expect(await screen.findByText('Monday report')).toBeTruthy()
    expect(screen.getByText('failed')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Show' }))
    const frame = await screen.findByTitle('Preview of the report')
    expect(frame.getAttribute('sandbox')).toBe('')
    expect(frame.getAttribute('srcdoc')).toContain('All is well.')
  })

  it('schedules a report, and says why it was refused', async () => {
    const sent: unknown[] = []
    openApp('/capacity?tab=reports', async (url, request) => {
      if (request.method !== 'POST' || url.pathname !== '/v1/reports') return undefined
      sent.push(await request.json())
      return problem(422, 'no mail server is configured', 'Set TIERSCOPE_MAIL_URL.')
    })
    const form = within(await screen.findByRole('form', { name: 'New report' }))
    expect(form.getByRole<HTMLButtonElement>('button', { name: 'Schedule' }).disabled).toBe(true)
    await userEvent.type(form.getByLabelText('Email addresses'), 'ana@example.org')
    await userEvent.click(form.getByRole('button', { name: 'Schedule' }))
    expect((await screen.findByRole('alert')).textContent).toContain('No mail server')
    expect(sent[0]).toMatchObject({ every_days: 7, to: { mail: ['ana@example.org'] } })
  })
})
