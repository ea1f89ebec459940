import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const rules = recorded('/v1/rules').items

/** Answers writes and keeps them; checks rules as the mock does. */
function recorder() {
  const sent: { path: string; method: string; body: unknown }[] = []
  const checked: string[] = []
  const respond = async (url: URL, request: Request) => {
    if (request.method === 'GET' || url.pathname === '/v1/rules/backtest') return undefined
    const body: unknown = request.method === 'DELETE' ? null : await request.json().catch(() => null)
    if (url.pathname === '/v1/rules/check') {
      const { rule } = body as { rule: { name: string; expression: string } }
      checked.push(rule.name)
      return Response.json(recorded('/v1/rules/check', '', rule.expression.includes('<') ? '' : 'expression=wrong'))
    }
    sent.push({ path: url.pathname, method: request.method, body })
    return Response.json(rules[1], { status: 201 })
  }
  return { sent, checked, respond }
}

describe('the alerts page', () => {
  it('says what fires and what nobody acknowledged, and lists the most severe first', async () => {
    openApp('/alerts')
    const headline = await screen.findByTestId('headline')
    await waitFor(() =>
      expect(headline.textContent).toContain('2 alerts firing: 1 critical, 1 warning. 1 acknowledged'),
    )
    expect(headline.textContent).toContain('Most urgent: Free DRAM on host-01.')
    const rows = within(screen.getByTestId('alerts-list')).getAllByRole('row').slice(1)
    expect(rows.map((row) => row.textContent?.match(/critical|warning|info/)?.[0])).toEqual([
      'critical',
      'warning',
      'info',
    ])
    expect(rows[0]?.textContent).toContain('<b>Ping-pong</b>')
    expect(rows[1]?.textContent).toContain('3 % (5 %)')
  })

  it('keeps filters in the URL, and asks for what they say', async () => {
    const asked: string[] = []
    const router = openApp('/alerts?severity=critical', (url) => {
      if (url.pathname === '/v1/alerts') asked.push(url.search)
      return undefined
    })
    await userEvent.click(await screen.findByRole('radio', { name: 'Resolved' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ severity: 'critical', state: 'resolved' }))
    await waitFor(() => expect(asked.some((query) => /severity=critical.*state=resolved/.test(query))).toBe(true))
  })

  it('acknowledges an alert with a note', async () => {
    const { sent, respond } = recorder()
    openApp('/alerts', respond)
    const buttons = await screen.findAllByRole('button', { name: 'Acknowledge' })
    await userEvent.click(buttons[0] as HTMLElement)
    await userEvent.type(await screen.findByLabelText('Note (optional)'), 'on it')
    await userEvent.click(screen.getByRole('button', { name: 'Confirm' }))
    await waitFor(() =>
      expect(sent).toEqual([{ path: '/v1/alerts/alert-1/acknowledge', method: 'POST', body: { note: 'on it' } }]),
    )
  })

  it('draws the timeline by rule or subject', async () => {
    const router = openApp('/alerts?tab=timeline')
    expect(await screen.findByTestId('chart-alert-timeline')).toBeTruthy()
    await userEvent.click(await screen.findByRole('radio', { name: 'By subject' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ by: 'subject' }))
  })

  it('silences an alert by its rule and subject', async () => {
    const { sent, respond } = recorder()
    openApp('/alerts?tab=silences&alert=alert-1', respond)
    const form = await screen.findByRole('form', { name: 'New silence' })
    expect(within(form).getByLabelText('Matchers')).toHaveProperty('value', 'alertname="Free DRAM", host="host-01"')
    await userEvent.type(within(form).getByLabelText('Reason'), 'known')
    await userEvent.click(within(form).getByRole('button', { name: 'Silence' }))
    await waitFor(() => expect(sent[0]?.path).toBe('/v1/silences'))
    expect(sent[0]?.body).toMatchObject({ comment: 'known', matchers: [{ name: 'alertname' }, { name: 'host' }] })
    expect(screen.getByTestId('silences-list').textContent).not.toContain('last week')
  })

  it('shows receivers without secrets, routes within each other, and why a delivery failed', async () => {
    openApp('/alerts?tab=routes')
    const receivers = await screen.findByTestId('receivers')
    await waitFor(() => expect(receivers.textContent).toContain('TIERSCOPE_SECRET_PAGER: not set'))
    expect(screen.getByTestId('routes').textContent).toContain('severity="critical"→pager')
    expect((await screen.findByText('failed')).textContent).toBeTruthy()
    expect(screen.getByTestId('deliveries').textContent).toContain('403 The key was refused')
  })

  it('keeps inner routes and inhibitions when the editor saves', async () => {
    const { sent, respond } = recorder()
    openApp('/alerts?tab=routes', respond)
    const receivers = await screen.findByTestId('receivers')
    await waitFor(() =>
      expect(within(receivers).getByRole('button', { name: 'Edit' })).toHaveProperty('disabled', false),
    )
    await userEvent.click(within(receivers).getByRole('button', { name: 'Edit' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Save' }))
    await waitFor(() => expect(sent[0]?.method).toBe('PUT'))
    expect(sent[0]?.body).toMatchObject({
      version: 3,
      receivers: [
        { name: 'pager', settings: { routing_key: '${TIERSCOPE_SECRET_PAGER}' } },
        { name: 'team', settings: { to: ['ops@example.com'], send_resolved: false } },
      ],
      routes: [{ group_interval_seconds: 600, routes: [{ receiver: 'pager' }] }],
      inhibitions: [{ equal: ['host'] }],
    })
  })
})

describe('one alert', () => {
  it('shows evidence, history and the way to its rule', async () => {
    openApp('/alerts/alert-1')
    expect((await screen.findByTestId('headline')).textContent).toContain('3 % of its DRAM free')
    expect(await screen.findByRole('img', { name: /Value of the condition/ })).toBeTruthy()
    expect(screen.getByTestId('alert-history').textContent).toContain('Rule changed')
    expect(screen.getByRole('link', { name: 'Runbook' }).getAttribute('rel')).toContain('noopener')
  })

  it('says why there is no evidence', async () => {
    openApp('/alerts/alert-2')
    await waitFor(() => expect(screen.getByTestId('chart-alert-evidence').textContent).toContain('The rule is gone'))
  })
})

describe('rules', () => {
  it('are switched on and off', async () => {
    const { sent, respond } = recorder()
    openApp('/alerts?tab=rules', respond)
    await userEvent.click(await screen.findByRole('switch', { name: 'Ping-pong is on' }))
    await waitFor(() => expect(sent[0]).toMatchObject({ path: '/v1/rules/rule-2', method: 'PUT' }))
    expect(sent[0]?.body).toMatchObject({ name: 'Ping-pong', enabled: true, recovery_threshold: '8%' })
  })

  it('are checked while they are written, and tested on history', async () => {
    const { sent, checked, respond } = recorder()
    const router = openApp('/alerts/rules/new', respond)
    const condition = await screen.findByLabelText('Condition')
    await waitFor(() => expect(screen.getByTestId('chart-backtest').textContent).toContain('fired 1×, resolved 0×'))
    await userEvent.clear(condition)
    await userEvent.type(condition, 'free dram')
    await waitFor(() => expect(screen.getByTestId('rule-check').textContent).toContain('Did you mean free_dram_ratio?'))
    expect(screen.getByTestId('rule-check').querySelector('mark')?.textContent).toBe('dram')
    expect(screen.getByRole('button', { name: 'Add rule' })).toHaveProperty('disabled', true)
    await userEvent.clear(condition)
    await userEvent.type(condition, 'free_dram_ratio < 3%')
    await userEvent.type(screen.getByRole('textbox', { name: /^Name/ }), 'Tight')
    await waitFor(() => expect(screen.getByRole('button', { name: 'Add rule' })).toHaveProperty('disabled', false))
    await userEvent.click(screen.getByRole('button', { name: 'Add rule' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/alerts/rules/rule-2'))
    expect(sent[0]?.body).toMatchObject({ name: 'Tight', expression: 'free_dram_ratio < 3%', for_seconds: 300 })
    expect(new Set(checked)).toEqual(new Set(['rule']))
  })

  it('that no subject has data for are said never to fire here', async () => {
    const { respond } = recorder()
    openApp('/alerts/rules/rule-2', (url, request) =>
      url.pathname === '/v1/rules/backtest'
        ? Response.json({ ...recorded('/v1/rules/backtest'), coverage: 0 })
        : respond(url, request),
    )
    expect((await screen.findByTestId('rule-never')).textContent).toContain('it cannot fire here')
    expect(screen.getByText('held before it fires')).toBeTruthy()
    cleanup()
    openApp('/alerts/rules/rule-2', respond)
    await waitFor(() => expect(screen.getByTestId('chart-backtest').textContent).toContain('of minutes with data'))
    expect(screen.queryByTestId('rule-never')).toBeNull()
  })

  it('that are shipped can be tried and copied, not saved', async () => {
    openApp('/alerts/rules/rule-1')
    expect(await screen.findByTestId('rule-shipped')).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Save rule' })).toBeNull()
    expect(screen.getByRole('link', { name: 'Copy' }).getAttribute('href')).toContain('copy=rule-1')
    await userEvent.click(await screen.findByRole('button', { name: 'Metrics and functions' }))
    expect((await screen.findByRole('list', { name: 'Series' })).textContent).toContain('free_dram_ratio')
  })
})
