import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'
import * as download from '../ui/export/download'

const changePlan = recorded('/v1/advice/plan')

afterEach(() => void vi.restoreAllMocks())

describe('the change plan', () => {
  it('says who changes hosts, what is at stake, and what every host has now', async () => {
    openApp('/advice?tab=plan')
    expect((await screen.findByTestId('headline')).textContent).toBe('2 changes for 3 hosts; 30 GiB at stake.')
    const table = screen.getByTestId('change-plan')
    expect(table.textContent).toContain('Tierscope changes nothing on hosts')
    expect(table.textContent).toContain('65536 (2), 256 (1) → 48')
    expect(within(table).getAllByText('not collected')).toHaveLength(1)
    expect(screen.getByTestId('change-detail').textContent).toContain('256 on 1 host')
    expect(screen.getByTestId('change-detail').textContent).toContain('# prints 48')
    expect(screen.getByTestId('plan-left-out').textContent).toContain('It has 60 already')
  })

  it('keeps picks and excluded hosts in the URL, and asks for the bundle of just these', async () => {
    const saved = vi.spyOn(download, 'downloadBlob').mockImplementation(() => undefined)
    const asked: string[] = []
    const router = openApp('/advice?tab=plan', (url) => {
      if (url.pathname === '/v1/advice/plan/bundle') asked.push(url.search)
      return undefined
    })
    const bundle = await screen.findByRole('button', { name: 'Download bundle' })
    expect(bundle.hasAttribute('disabled')).toBe(true)
    await userEvent.click(await screen.findByRole('checkbox', { name: /^Pick kernel.numa_balancing/ }))
    await userEvent.click(screen.getByRole('checkbox', { name: 'Include host-02' }))
    const id = changePlan.changes[0]?.id
    await waitFor(() => expect(router.state.location.search).toMatchObject({ pick: id, without: 'h-2' }))
    await userEvent.click(screen.getByRole('button', { name: 'Download bundle: 1 change, 2 hosts' }))
    await waitFor(() => expect(saved).toHaveBeenCalledOnce())
    expect(asked).toEqual([`?change=${id}&without_host=h-2`])
    expect(saved.mock.calls[0]?.[0]).toBe('tierscope-change-plan.tar')
  })

  it('hands out one change from its line, and says why it cannot', async () => {
    openApp('/advice?tab=plan', (url) =>
      url.pathname === '/v1/advice/plan/bundle' ? problem(404, 'It was applied.', 'Reload the plan.') : undefined,
    )
    await userEvent.click(await screen.findByRole('button', { name: /Download bundle of .*demotion_enabled = 1/ }))
    expect((await screen.findByRole('alert')).textContent).toContain('Reload the plan.')
  })

  it('shows the files before they are downloaded', async () => {
    openApp('/advice?tab=plan&change=numa_demotion_enabled_1')
    await userEvent.click(await screen.findByRole('button', { name: 'Show files' }))
    expect((await screen.findByLabelText('README.txt')).textContent).toContain('changes nothing on hosts')
  })

  it('starts an experiment with the proposed arms in two clicks', async () => {
    const sent: Record<string, unknown>[] = []
    const router = openApp('/advice?tab=plan', async (_, request) => {
      if (request.method !== 'POST') return undefined
      sent.push((await request.json()) as Record<string, unknown>)
      return Response.json(
        { experiment: recorded('/v1/experiments/{experiment_id}', 'exp-1'), excluded: [] },
        { status: 201 },
      )
    })
    await userEvent.click(await screen.findByRole('button', { name: /^Try on canaries: kernel.numa_balancing/ }))
    const proposal = await screen.findByTestId('canary-proposal')
    expect(proposal.textContent).toContain('Canary: 1 host')
    expect(proposal.textContent).toContain('drawn at random')
    const start = screen.getByRole('button', { name: 'Start experiment' })
    await waitFor(() => expect(start.hasAttribute('disabled')).toBe(false))
    await userEvent.click(start)
    await waitFor(() => expect(router.state.location.pathname).toBe('/experiments/exp-1'))
    expect(sent[0]).toMatchObject({
      service_id: 'svc-redis',
      advice_id: 'adv-1',
      auto: null,
      canary: ['h-1'],
      control: ['h-2', 'h-3'],
      seed: recorded('/v1/advice/plan/canaries').seed,
    })
  })

  it('proposes hosts of another service of the change', async () => {
    const router = openApp('/experiments/new?change=vm_swappiness_40')
    await userEvent.click(await screen.findByRole('combobox', { name: /Service/ }))
    await userEvent.click(await screen.findByRole('option', { name: 'prod/postgres (1)' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ service: 'svc-pg' }))
    await waitFor(() =>
      expect(screen.getByRole<HTMLInputElement>('combobox', { name: /Service/ }).value).toBe('prod/postgres (1)'),
    )
  })

  it('names contradicting advice instead of planning it', async () => {
    openApp('/advice?tab=plan', (url) =>
      url.pathname === '/v1/advice/plan'
        ? Response.json({
            ...changePlan,
            conflicts: [{ host_id: 'h-1', name: 'host-01', path: '/proc/sys/vm/swappiness', values: ['10', '60'] }],
          })
        : undefined,
    )
    expect((await screen.findByTestId('plan-conflicts')).textContent).toContain('host-01: /proc/sys/vm/swappiness')
  })
})

describe('the drift of settings', () => {
  it('marks what differs with what most peers have, and tells absent from equal', async () => {
    openApp('/advice?tab=drift')
    expect((await screen.findByTestId('headline')).textContent).toContain('2 of 12 compared hosts differ')
    const matrix = screen.getByTestId('setting-drift')
    const marked = [...matrix.querySelectorAll('[data-drift="differs"]')].map((cell) => cell.textContent)
    expect(marked).toEqual(['100most of 11 peers: 60', 'falsemost of 11 peers: true', '10most of 11 peers: 60'])
    expect(within(matrix).getAllByText('not collected')).toHaveLength(2)
    expect(screen.getByText(/2 hosts are not compared/)).toBeTruthy()
  })
})
