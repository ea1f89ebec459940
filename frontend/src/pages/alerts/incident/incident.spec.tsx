import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { problem, recorded } from '../../../mock-api/answer'
import { openApp } from '../../../mock-api/render'
import { zoomWithin } from './zoomWithin'

describe('the incident page', () => {
  it('is one click from the list, and gives cause and fix before everything else', async () => {
    openApp('/alerts')
    await userEvent.click(await screen.findByRole('link', { name: '<b>Ping-pong</b>' }))
    const cause = await screen.findByTestId('incident-cause')
    await waitFor(() => expect(cause.textContent).toContain('The hot set does not fit in DRAM.'))
    expect(cause.textContent).toContain('Turned over 1.3 times')
    expect(cause.textContent).toContain('Next most likely: following phases')
    await waitFor(() =>
      expect(screen.getByTestId('incident-fix').textContent).toContain('Demote to CXL before swapping'),
    )
    expect(screen.getByTestId('chart-incident').compareDocumentPosition(screen.getByTestId('incident-hosts'))).toBe(
      Node.DOCUMENT_POSITION_FOLLOWING,
    )
    expect(screen.getByTestId('incident-shared').textContent).toContain('prod/batch took fast memory of prod/redis')
    expect(screen.getByTestId('incident-fix').compareDocumentPosition(screen.getByTestId('chart-alert-evidence'))).toBe(
      Node.DOCUMENT_POSITION_FOLLOWING,
    )
  })

  it('asks for advice on the worst host over the time of the incident, and leads to an experiment', async () => {
    const asked: URL[] = []
    openApp('/alerts/alert-1', (url) => {
      if (url.pathname.endsWith('/knob-advice')) asked.push(url)
      return undefined
    })
    const fix = await screen.findByTestId('incident-fix')
    const link = await within(fix).findByRole('link', { name: 'Apply as an experiment' })
    expect(link.getAttribute('href')).toBe('/experiments/new?advice=a-1&service=svc-redis')
    expect(fix.textContent).toContain('→ true (roll back to false)')
    expect(fix.textContent).toContain('Verify')
    expect(asked[0]?.pathname).toBe('/v1/hosts/h-1/knob-advice')
    const judged = recorded('/v1/alerts/{alert_id}/incident', 'alert-1').judged
    expect([asked[0]?.searchParams.get('from'), asked[0]?.searchParams.get('to')]).toEqual([judged?.start, judged?.end])
    await userEvent.click(within(fix).getByRole('button', { name: 'Files and commands' }))
    expect(within(fix).getByText(/echo true >/)).toBeTruthy()
  })

  it.each([
    ['capacity', 'plan memory', 'plan of hosts by quarter'],
    ['agent', 'mend the agent', 'systemctl status tierscope-agent'],
    ['spill', 'Demote to CXL', 'Set'],
  ] as const)('of kind %s says what helps against it', async (kind, title, text) => {
    openApp('/alerts/alert-1', (url) =>
      url.pathname.endsWith('/incident')
        ? Response.json({
            ...recorded('/v1/alerts/{alert_id}/incident', 'alert-1'),
            kind,
            subject: { kind: 'service', id: 'svc-redis', name: 'redis' },
          })
        : undefined,
    )
    const fix = await screen.findByTestId('incident-fix')
    await waitFor(() => expect(fix.textContent).toContain(title))
    expect(fix.textContent).toContain(text)
    if (kind === 'spill') expect((await screen.findByTestId('incident-free')).textContent).toMatch(/node 0, dram/)
  })

  it('leads who is not logged in to the login before a form opens', async () => {
    openApp('/alerts/alert-1', (url) =>
      url.pathname === '/v1/session' ? Response.json(recorded('/v1/session', '', 'as=anonymous')) : undefined,
    )
    expect((await screen.findByTestId('login-first')).textContent).toBe('Log in to acknowledge')
    expect(screen.queryByRole('button', { name: /acknowledge/i })).toBeNull()
  })

  it('says that nothing is advised, and which rules lack data', async () => {
    openApp('/alerts/alert-1', (url) =>
      url.pathname.endsWith('/knob-advice')
        ? Response.json({ ...recorded('/v1/hosts/{host_id}/knob-advice'), advice: [], nothing_to_do: null })
        : undefined,
    )
    await waitFor(() => expect(screen.getByTestId('incident-fix').textContent).toContain('Rules that lack data: F7.'))
    expect(screen.getByTestId('incident-fix').textContent).toContain('F1 is not given: DAMON moves hot pages up')
  })

  it('says when it held, fired, and why these differ', async () => {
    openApp('/alerts/alert-1')
    const onset = await screen.findByTestId('incident-onset')
    await waitFor(() => expect(onset.textContent).toContain('held in 5 evaluated minutes in a row'))
    expect(
      within(onset)
        .getAllByRole('listitem')
        .map((item) => item.textContent?.match(/^\w+/)?.[0]),
    ).toEqual(['Condition', 'pending', 'fired'])
    expect(onset.textContent).toContain('(10 min later)')
  })

  it('lists whom it touched, worst first, and why lines are missing', async () => {
    openApp('/alerts/alert-1')
    const hosts = await screen.findByTestId('incident-hosts')
    await waitFor(() => expect(within(hosts).getAllByRole('row')).toHaveLength(3))
    expect(within(hosts).getAllByRole('row')[1]?.textContent).toContain('host-01ping-pong')
    expect(screen.getByTestId('incident-services').textContent).toContain('prod/redis')
    const notes = screen.getAllByRole('list', { name: 'Notes on these figures' })
    expect(notes[0]?.textContent).toContain('Throughput: not collected. Map it under [[service_metrics]].')
    expect(notes[0]?.textContent).toContain('Refaults: not supported. No workingset counters.')
  })

  it('keeps the alert in sight where the incident cannot be read', async () => {
    openApp('/alerts/alert-1', (url) =>
      url.pathname.endsWith('/incident') ? problem(404, 'there is no host', 'List hosts.') : undefined,
    )
    await waitFor(() => expect(screen.getByTestId('chart-incident').textContent).toContain('It failed'))
    expect(screen.getByTestId('alert-facts').textContent).toContain('host-01')
  })

  it('shows the picked part of the incident, and the way back to all of it', async () => {
    const window = recorded('/v1/alerts/{alert_id}/incident', 'alert-1').window ?? { start: '', end: '' }
    const router = openApp(`/alerts/alert-1?from=${window.start}&to=${window.end}`)
    await userEvent.click(await screen.findByRole('button', { name: 'Whole incident' }))
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty('to'))
    expect(screen.queryByRole('button', { name: 'Whole incident' })).toBeNull()
    expect(zoomWithin({ from: '-6h', to: undefined, refreshMs: null }, window)).toBeNull()
    expect(zoomWithin({ from: '2020-01-01T00:00:00Z', to: window.end, refreshMs: null }, window)).toBeNull()
  })
})
