import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const hosts = recorded('/v1/hosts').items
const anonymous = recorded('/v1/session', '', 'as=anonymous')
const nobody = recorded('/v1/session', '', 'as=nobody')
const session = recorded('/v1/session')

const answers = (path: string, body: unknown) => (url: URL) => (url.pathname === path ? Response.json(body) : undefined)

describe('the page that adds hosts', () => {
  it('is one click away on every page, whoever looks', async () => {
    for (const viewer of [session, anonymous, nobody]) {
      openApp('/services', answers('/v1/session', viewer))
      const links = await screen.findAllByRole('link', { name: 'Add hosts' })
      expect(links[0]?.getAttribute('href')).toBe('/add-hosts')
      cleanup()
    }
  })

  it('says what came and gives no host', async () => {
    const example = 'collectd_memory{instance="db1",memory="free"}'
    const reason = 'none is a counter that we read'
    const unread = [{ word: 'collectd', series: 12_400, senders: 3, example, reason, of_machines: true }]
    openApp('/add-hosts?how=prometheus', answers('/v1/status', { ...recorded('/v1/status'), unread }))
    const panel = await screen.findByTestId('unread-series')
    expect(panel.textContent).toContain('12,400 series of 3 senders: none is a counter that we read.')
    expect(panel.textContent).toContain(example)
  })

  it('makes a join token, puts it into the commands, and lists the hosts with its labels', async () => {
    const sent: unknown[] = []
    const asked: string[][] = []
    const router = openApp('/add-hosts', async (url, request) => {
      if (url.pathname === '/v1/hosts' && url.searchParams.has('enrolled_since')) {
        asked.push(url.searchParams.getAll('label'))
      }
      if (url.pathname !== '/v1/agents/join-tokens') return undefined
      sent.push(await request.json())
      return Response.json({ id: 't', token: 'tsj_abc', expires_at: null }, { status: 201 })
    })
    const steps = await screen.findByTestId('install-steps')
    expect(steps.textContent).toContain('PASTE_TOKEN_HERE')
    await userEvent.type(await screen.findByLabelText(/^Labels of these hosts/), 'rack=r1, sku=big')
    await userEvent.click(screen.getByRole('button', { name: 'Create join token' }))
    expect((await screen.findByTestId('made-join-token')).textContent).toContain('tsj_abc')
    expect(steps.textContent).toContain('tsj_abc > /etc/tierscope/join-token')
    expect(sent).toEqual([{ uses: 1, hours: 24, labels: { rack: 'r1', sku: 'big' }, note: '' }])
    await waitFor(() => expect(asked).toContainEqual(['rack=r1', 'sku=big']))
    expect(router.state.location.search).toMatchObject({ labels: 'rack=r1, sku=big' })
    await userEvent.click(screen.getByRole('button', { name: 'Done, token saved' }))
    expect(screen.getByTestId('install-steps').textContent).not.toContain('tsj_abc')
  })

  it('keeps the way in the address, and makes another token for Prometheus', async () => {
    const sent: unknown[] = []
    const router = openApp('/add-hosts', async (url, request) => {
      if (url.pathname !== '/v1/tokens' || request.method !== 'POST') return undefined
      sent.push(await request.json())
      return Response.json({ id: 't', token: 'ts_write', expires_at: null }, { status: 201 })
    })
    await userEvent.click(await screen.findByRole('tab', { name: 'Prometheus' }))
    expect(router.state.location.search).toMatchObject({ how: 'prometheus' })
    await userEvent.click(await screen.findByRole('button', { name: 'Create token' }))
    await screen.findByTestId('made-write-token')
    expect(screen.getByTestId('install-steps').textContent).toContain('https://tierscope.example/api/v1/write')
    expect(screen.getByTestId('install-steps').textContent).toContain('ts_write')
    expect(sent).toEqual([{ role: 'operator', scopes: ['write:samples'], note: 'prometheus', days: 365 }])
  })

  it('sends who may not make tokens to the login, and shows the commands all the same', async () => {
    openApp('/add-hosts?how=deb', answers('/v1/session', anonymous))
    const refusal = await screen.findByTestId('token-refusal')
    const link = within(refusal).getByRole('link', { name: 'Log in to create one' })
    expect(link.getAttribute('href')).toContain('/login?next=')
    expect(link.getAttribute('href')).toContain('add-hosts')
    expect(refusal.textContent).toContain('tierscope token join')
    expect(screen.getByTestId('install-steps').textContent).toContain('make dist')
    expect(screen.queryByRole('button', { name: 'Create join token' })).toBeNull()
    cleanup()
    openApp('/add-hosts', answers('/v1/session', { ...session, role: 'viewer', permissions: ['public', 'read:fleet'] }))
    expect((await screen.findByTestId('token-refusal')).textContent).toContain('you are viewer')
  })

  it('warns that a loopback address reaches this machine alone, until another is typed', async () => {
    openApp('/add-hosts', answers('/v1/status', { ...recorded('/v1/status'), public_url: null }))
    const field = await screen.findByLabelText(/^Address of this service/)
    expect((await screen.findByTestId('server-note')).textContent).toContain('Only this machine reaches')
    await userEvent.clear(field)
    expect(screen.queryByTestId('install-steps')).toBeNull()
    await userEvent.type(field, 'http://10.0.0.7:8480')
    expect(screen.getByTestId('server-note').textContent).toContain('unencrypted')
    expect(screen.getByTestId('install-steps').textContent).toContain('allow_http = true')
  })

  it('offers the address that the service is set to', async () => {
    openApp('/add-hosts')
    await waitFor(() =>
      expect(screen.getByLabelText(/^Address of this service/)).toHaveProperty('value', 'https://tierscope.example'),
    )
  })
})

describe('the hosts of the last hour', () => {
  const fresh = { ...hosts[0], enrolled_at: new Date(Date.now() - 120_000).toISOString() }

  it('show what they have sent, with what is still to come', async () => {
    openApp('/add-hosts', (url) => {
      if (url.pathname === '/v1/hosts') return Response.json({ items: [fresh], next_cursor: null })
      if (url.pathname === '/v1/advice') return Response.json({ items: [], next_cursor: null })
      if (url.pathname !== '/v1/hosts/h-1') return undefined
      const detail = recorded('/v1/hosts/{host_id}', 'h-1')
      const pause = { ...detail?.agent.pause, heat_paused: true }
      return Response.json({ ...detail, agent: { ...detail?.agent, pause } })
    })
    const host = await screen.findByTestId('start-h-1')
    const state = (key: string) => within(host).getByTestId(`step-${key}`).dataset['state']
    await waitFor(() => expect([state('connected'), state('counters')]).toEqual(['done', 'done']))
    await waitFor(() => expect(state('advice')).toBe('done'))
    expect(within(host).getByTestId('step-connected').textContent).toContain('done')
  })

  it('say that none has come yet, and what is wrong when they cannot be read', async () => {
    openApp('/add-hosts')
    expect(await screen.findByText('Waiting for the first host')).toBeTruthy()
    cleanup()
    openApp('/add-hosts', (url) =>
      url.pathname === '/v1/hosts' ? problem(503, 'The database is full.', 'Free some space.') : undefined,
    )
    const panel = await screen.findByTestId('new-hosts')
    expect((await within(panel).findByTestId('problem-state')).textContent).toContain('The database is full.')
  })
})
