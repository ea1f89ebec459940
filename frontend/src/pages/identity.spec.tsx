import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { leaveTo } from '../lib/access/leave'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const anonymous = recorded('/v1/session', '', 'as=anonymous')
const loginMethods = recorded('/v1/login/methods')
const nobody = recorded('/v1/session', '', 'as=nobody')
const session = recorded('/v1/session')

const refused = () => problem(401, 'Nobody is logged in.', 'Log in.')

describe('a form for which somebody lacks rights', () => {
  it.each([
    ['/alerts?tab=rules', 'Log in to add a rule'],
    ['/alerts?tab=silences', 'Log in to silence alerts'],
    ['/alerts?tab=routes', 'Log in to edit'],
    ['/capacity?tab=reports', 'Log in to schedule a report'],
    ['/simulator?new=on', 'Log in to start a sweep'],
    ['/experiments/new?service=svc-feed', 'Log in to start it'],
    ['/services/svc-feed?tab=advice', 'Log in to add your own'],
    ['/services/svc-redis?tab=advice', 'Log in to delete it'],
    ['/alerts/rules/rule-2', 'Log in to save rules'],
    ['/alerts/rules/new', 'Log in to save rules'],
    ['/alerts?tab=silences', 'Log in to end it'],
    ['/experiments/exp-1', 'Log in to end it'],
    ['/simulator/sweep-1', 'Log in to delete it'],
  ])('is not open to who is not logged in: %s', async (path, words) => {
    openApp(path, (url) => (url.pathname === '/v1/session' ? Response.json(anonymous) : undefined))
    expect((await screen.findAllByText(words, {}, { timeout: 10_000 })).length).toBeGreaterThan(0)
  })

  it('is not open to a role that nobody owns it under', async () => {
    const operator = { ...session, permissions: session.permissions.filter((name) => name !== 'write:routes') }
    openApp('/alerts?tab=routes', (url) => (url.pathname === '/v1/session' ? Response.json(operator) : undefined))
    expect((await screen.findAllByText('Your role may not edit')).length).toBeGreaterThan(0)
    expect(screen.queryByRole('button', { name: 'Edit' })).toBeNull()
  })
})

describe('logging in', () => {
  it('takes name and password, and returns to where one was', async () => {
    const sent: unknown[] = []
    const router = openApp('/login?next=%2Fhosts%3Ffrom%3D-1h', async (url, request) => {
      if (url.pathname !== '/v1/session' || request.method !== 'POST') return undefined
      sent.push(await request.json())
      return Response.json(session)
    })
    await userEvent.type(await screen.findByLabelText(/^Name/), 'ana')
    await userEvent.type(screen.getByLabelText(/^Password/), 'four unrelated words here')
    await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/hosts'))
    expect(router.state.location.search).toMatchObject({ from: '-1h' })
    expect(sent).toEqual([{ name: 'ana', password: 'four unrelated words here' }])
  })

  it('leads to the provider, with the way back, and never to another site', async () => {
    openApp('/login?next=https%3A%2F%2Felsewhere.example')
    const button = await screen.findByRole('link', { name: 'Log in with Example SSO' })
    expect(button.getAttribute('href')).toBe('/v1/login/oidc/start?next=%2F')
  })

  it('offers only what there is, and says how to begin', async () => {
    openApp('/login', (url) =>
      url.pathname === '/v1/login/methods'
        ? Response.json({ ...loginMethods, password: false, oidc: null })
        : undefined,
    )
    expect((await screen.findByTestId('first-start')).textContent).toContain('tierscope token link --role admin')
    expect(screen.queryByLabelText(/^Password/)).toBeNull()
    expect(screen.queryByRole('link', { name: /^Log in with/ })).toBeNull()
  })

  it('says why it failed, here and at the provider', async () => {
    openApp('/login?error=not-allowed', (url, request) =>
      url.pathname === '/v1/session' && request.method === 'POST'
        ? problem(401, 'Name or password is wrong.', 'Try again.')
        : undefined,
    )
    expect((await screen.findByRole('alert')).textContent).toContain('You have no role here')
    await userEvent.type(await screen.findByLabelText(/^Name/), 'ana')
    await userEvent.type(screen.getByLabelText(/^Password/), 'wrong')
    await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
    expect(await screen.findByText(/Name or password is wrong/)).toBeTruthy()
  })
})

describe('a session', () => {
  it('that ends leaves the page as it is, and says so', async () => {
    let over = false
    openApp('/hosts', (url) => {
      if (url.pathname === '/v1/session') return Response.json(over ? nobody : session)
      return over && url.pathname.startsWith('/v1/') ? refused() : undefined
    })
    expect(await screen.findByText('rack1-node01')).toBeTruthy()
    await screen.findByTestId('account-menu')
    over = true
    await userEvent.click(screen.getByRole('link', { name: 'Services' }))
    const notice = await screen.findByTestId('login-notice')
    expect(notice.textContent).toContain('Your session has ended')
    expect(within(notice).getByRole('link').getAttribute('href')).toContain('next=%2Fservices')
  })

  it('that never began is asked for where nothing can be read without', async () => {
    openApp('/', (url) =>
      url.pathname === '/v1/session' ? Response.json(nobody) : url.pathname.startsWith('/v1/') ? refused() : undefined,
    )
    expect((await screen.findByTestId('login-notice')).textContent).toContain('requires a login')
  })

  it('decides which pages are offered', async () => {
    openApp('/', (url) => (url.pathname === '/v1/session' ? Response.json(anonymous) : undefined))
    expect(await screen.findByRole('link', { name: 'Log in' })).toBeTruthy()
    expect(screen.getByRole('link', { name: 'Data quality' })).toBeTruthy()
    expect(screen.queryByRole('link', { name: 'Administration' })).toBeNull()
    expect(screen.queryByRole('link', { name: 'Agents' })).toBeNull()
  })

  it('can be ended', async () => {
    const sent: string[] = []
    const router = openApp('/', (url, request) => {
      if (url.pathname !== '/v1/session' || request.method !== 'DELETE') return undefined
      sent.push(request.method)
      return new Response(null, { status: 204 })
    })
    await userEvent.click(await screen.findByTestId('account-menu'))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Log out' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/login'))
    expect(sent).toEqual(['DELETE'])
  })

  it('goes on to the logout of the provider that it came through', async () => {
    const logout_url = '/v1/login/oidc/logout'
    openApp('/', (url, request) => {
      if (url.pathname !== '/v1/session') return undefined
      return request.method === 'DELETE'
        ? new Response(null, { status: 204 })
        : Response.json({ ...session, logout_url })
    })
    await userEvent.click(await screen.findByTestId('account-menu'))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Log out' }))
    await waitFor(() => expect(leaveTo).toHaveBeenCalledWith(logout_url))
  })
})

describe('the account page', () => {
  it('makes a token with scopes and an end, and shows it once', async () => {
    const sent: unknown[] = []
    openApp('/account', async (url, request) => {
      if (url.pathname !== '/v1/me/tokens' || request.method !== 'POST') return undefined
      sent.push(await request.json())
      return Response.json({ id: 't', token: 'ts_secret', expires_at: null }, { status: 201 })
    })
    await userEvent.type(await screen.findByLabelText('Purpose'), 'notebook')
    await userEvent.click(screen.getByRole('button', { name: 'Create token' }))
    const made = await screen.findByTestId('made-token')
    expect(made.textContent).toContain('ts_secret')
    expect(sent).toEqual([{ note: 'notebook', scopes: ['read:fleet'], days: 90 }])
    await userEvent.click(within(made).getByRole('button', { name: 'Done, token saved' }))
    expect(screen.queryByTestId('made-token')).toBeNull()
  })

  it('revokes a token after asking', async () => {
    const sent: string[] = []
    openApp('/account', (url, request) => {
      if (request.method !== 'DELETE') return undefined
      sent.push(url.pathname)
      return new Response(null, { status: 204 })
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Delete the token for notebook…' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Delete the token for notebook' }))
    await waitFor(() => expect(sent).toEqual(['/v1/me/tokens/t-9']))
  })

  it('changes the password only when both new ones agree, and shows a refusal', async () => {
    openApp('/account', (url, request) =>
      url.pathname === '/v1/me/password' && request.method === 'PUT'
        ? problem(422, 'The password is too short.', 'Take at least 15 characters.')
        : undefined,
    )
    await userEvent.type(await screen.findByLabelText('Current password'), 'old one')
    await userEvent.type(screen.getByLabelText('New password'), 'short')
    await userEvent.type(screen.getByLabelText('Repeat new password'), 'shirt')
    const button = screen.getByRole('button', { name: 'Change password' })
    expect(button.hasAttribute('disabled')).toBe(true)
    await userEvent.clear(screen.getByLabelText('Repeat new password'))
    await userEvent.type(screen.getByLabelText('Repeat new password'), 'short')
    await userEvent.click(button)
    expect(await screen.findByText(/The password is too short/)).toBeTruthy()
  })

  it('says why it cannot be shown', async () => {
    openApp('/account', (url) => (url.pathname === '/v1/me' ? refused() : undefined))
    expect((await screen.findByTestId('problem-state')).textContent).toContain('Nobody is logged in.')
  })
})
