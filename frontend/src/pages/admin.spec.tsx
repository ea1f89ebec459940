import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'
import { stateOf } from './admin/TokensTab'

const audit = recorded('/v1/audit').items
const session = recorded('/v1/session')
const tokens = recorded('/v1/tokens')

const later = new Date('2027-01-01T00:00:00Z')

describe('administration', () => {
  it('is for those who may, each tab for itself', async () => {
    openApp('/admin', (url) =>
      url.pathname === '/v1/session' ? Response.json({ ...session, permissions: ['public', 'read:audit'] }) : undefined,
    )
    expect(await screen.findByTestId('audit')).toBeTruthy()
    expect(screen.queryByRole('tab', { name: 'Users' })).toBeNull()
    cleanup()
    openApp('/admin', (url) =>
      url.pathname === '/v1/session' ? Response.json({ ...session, permissions: ['public'] }) : undefined,
    )
    expect(await screen.findByText('This page is for administrators')).toBeTruthy()
  })

  it('makes a user and hands out the link that sets the password', async () => {
    const sent: unknown[] = []
    openApp('/admin', async (url, request) => {
      if (request.method !== 'POST') return undefined
      if (url.pathname === '/v1/users') {
        sent.push(await request.json())
        return Response.json({ id: 'u-9' }, { status: 201 })
      }
      return Response.json({ path: '/login/password?link=abc', expires_at: later.toISOString() }, { status: 201 })
    })
    await userEvent.type(await screen.findByLabelText('Login name'), 'cho')
    await userEvent.click(screen.getByRole('button', { name: 'Create user' }))
    expect((await screen.findByTestId('password-link')).textContent).toContain('/login/password?link=abc')
    expect(sent).toEqual([{ name: 'cho', display_name: '', email: null, role: 'viewer' }])
  })

  it('disables a user, and says why it was refused', async () => {
    openApp('/admin', (url, request) =>
      request.method === 'PUT' && url.pathname === '/v1/users/u-1'
        ? problem(409, 'This is the last administrator.', 'Make another one first.')
        : undefined,
    )
    await userEvent.click(await screen.findByRole('button', { name: 'Disable ana' }))
    expect(await screen.findByText(/This is the last administrator/)).toBeTruthy()
    expect(screen.getByRole('button', { name: 'Enable ben@example.org' })).toBeTruthy()
  })

  it('changes a team with its members and services', async () => {
    const sent: unknown[] = []
    openApp('/admin?tab=teams', async (url, request) => {
      if (request.method !== 'PUT') return undefined
      sent.push([url.pathname, await request.json()])
      return Response.json({})
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Change Storage' }))
    const name = screen.getByRole('textbox', { name: 'Name' })
    await userEvent.clear(name)
    await userEvent.type(name, 'Caches')
    await userEvent.click(screen.getByRole('button', { name: 'Save team' }))
    await waitFor(() =>
      expect(sent).toEqual([['/v1/teams/team-1', { name: 'Caches', members: ['u-1'], services: ['svc-redis'] }]]),
    )
  })

  it('lists tokens in force, ended ones on request', async () => {
    openApp('/admin?tab=tokens')
    expect(await screen.findByText('deploy pipeline')).toBeTruthy()
    expect(screen.queryByText('old pipeline')).toBeNull()
    await userEvent.click(screen.getByRole('switch', { name: 'Show expired' }))
    expect(await screen.findByText('old pipeline')).toBeTruthy()
    const [api, join] = tokens
    if (api === undefined || join === undefined) throw new Error('the mock lacks tokens')
    const now = new Date('2026-11-21T03:00:00Z')
    expect(stateOf({ ...api, expires_at: now.toISOString() }, now)).toBe('expired')
    expect(stateOf({ ...join, uses_left: 0 }, now)).toBe('used up')
  })

  it('reads the audit trail on, and narrows it', async () => {
    const asked: string[] = []
    openApp('/admin?tab=audit&actor=ana', (url) => {
      if (url.pathname !== '/v1/audit') return undefined
      asked.push(url.search)
      const older = url.searchParams.get('cursor') !== null
      const item = audit[older ? 1 : 0]
      return Response.json({ items: [item], next_cursor: older ? null : '17' })
    })
    expect((await screen.findByText('token.create')).textContent).toBeTruthy()
    expect(screen.getByText('role: operator, days: 90')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Show older changes' }))
    expect(await screen.findByText('user.update')).toBeTruthy()
    expect(asked[0]).toContain('actor=ana')
    expect(asked[1]).toContain('cursor=17')
    expect(screen.queryByRole('button', { name: 'Show older changes' })).toBeNull()
  })

  it('says when nothing matches', async () => {
    openApp('/admin?tab=audit&subject=x', (url) =>
      url.pathname === '/v1/audit' ? Response.json({ items: [], next_cursor: null }) : undefined,
    )
    expect(await screen.findByText('No matching changes')).toBeTruthy()
  })

  it('shows what a removal took', async () => {
    openApp('/admin?tab=removals')
    await userEvent.click(await screen.findByRole('button', { name: 'Report on rack1-node01' }))
    const report = await screen.findByTestId('purge-report')
    expect(within(report).getByText('samples')).toBeTruthy()
    expect(within(report).getByText('123,456')).toBeTruthy()
  })
})
