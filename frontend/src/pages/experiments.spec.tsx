import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'
import { recorded } from '../mock-api/answer'

describe('the experiments pages', () => {
  it('lists experiments with their state and verdict', async () => {
    openApp('/experiments')
    expect((await screen.findByTestId('headline')).textContent).toContain('2 experiments, 1 running.')
    expect(screen.getByText('improved')).toBeTruthy()
    expect(screen.getByText('at its end')).toBeTruthy()
  })

  it('gives the effect with its interval first, and both arms', async () => {
    openApp('/experiments/exp-2')
    expect((await screen.findByTestId('headline')).textContent).toMatch(/Throughput: \+3.4 % .*improved/)
    expect(screen.getByTestId('chart-experiment-throughput')).toBeTruthy()
    const arms = screen.getByTestId('experiment-arms')
    expect(arms.textContent).toContain('Canary: 8 hosts, 7 with data')
    expect(within(arms).getAllByText(/\(no data on both sides of the change\)/)).toHaveLength(
      recorded('/v1/experiments/{experiment_id}', 'exp-2').arms.flatMap(({ hosts }) =>
        hosts.filter(({ has_data: known }) => !known),
      ).length,
    )
    expect(screen.queryByRole('button', { name: 'End now' })).toBeNull()
  })

  it('gives no verdict while an experiment runs', async () => {
    openApp('/experiments/exp-1')
    expect((await screen.findByTestId('experiment-why')).textContent).toContain('looking early')
    expect(screen.queryByText('improved')).toBeNull()
    expect(screen.getByRole('button', { name: 'End now' })).toBeTruthy()
  })

  it('plans with the service of the link, and starts with hosts drawn at random', async () => {
    const sent: Record<string, unknown>[] = []
    const router = openApp('/experiments/new?service=svc-redis&advice=adv-2', async (_, request) => {
      if (request.method !== 'POST') return undefined
      sent.push((await request.json()) as Record<string, unknown>)
      return Response.json(
        { experiment: recorded('/v1/experiments/{experiment_id}', 'exp-1'), excluded: [] },
        { status: 201 },
      )
    })
    expect(await screen.findByText(/another kernel/i)).toBeTruthy()
    await userEvent.type(screen.getByRole('textbox', { name: /Name/ }), 'Limit promotion')
    const form = screen.getByRole('form', { name: 'New experiment' })
    await userEvent.click(within(form).getByRole('button', { name: 'Start experiment' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/experiments/exp-1'))
    expect(sent[0]).toMatchObject({
      service_id: 'svc-redis',
      advice_id: 'adv-2',
      auto: { canary_n: 5 },
      metrics: [{ metric: 'throughput', margin_ratio: 0.01 }],
    })
  })

  it('warns before it starts where arms are too small for the margin', async () => {
    const planned = (hosts: number) => (url: URL) =>
      url.pathname === '/v1/experiments/plan'
        ? Response.json({ ...recorded('/v1/experiments/plan'), hosts_per_arm_needed: hosts, effect_ratio: 0.01 })
        : undefined
    openApp('/experiments/new?service=svc-redis', planned(5))
    expect(await screen.findByText(/another kernel/i)).toBeTruthy()
    expect(screen.queryByTestId('plan-too-few')).toBeNull()
    cleanup()
    openApp('/experiments/new?service=svc-redis', planned(11))
    expect((await screen.findByTestId('plan-too-few')).textContent).toContain(
      'Too few hosts for a margin of 1 %: that takes 11 hosts in each arm, and the smaller one has 5.',
    )
  })
})
