import { act, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { SavedView } from '../api/_generated/schema'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const anonymous = recorded('/v1/session', '', 'as=anonymous')
const session = recorded('/v1/session')
const views = recorded('/v1/views').items

afterEach(() => {
  vi.useRealTimers()
})

/** The app with saved views that can be written, for whoever is logged in. */
function openSaving(path: string, who = session) {
  let stored: SavedView[] = [...views]
  const sent: string[] = []
  const router = openApp(path, async (url, request) => {
    if (url.pathname === '/v1/session') return Response.json(who)
    if (!url.pathname.startsWith('/v1/views')) return undefined
    const id = url.pathname.split('/')[3]
    if (request.method === 'GET') return Response.json({ items: stored, next_cursor: null })
    if (request.method === 'DELETE') {
      stored = stored.filter((view) => view.id !== id)
      return new Response(null, { status: 204 })
    }
    const body = (await request.json()) as { name: string; address: string; shared: boolean }
    sent.push(`${request.method} ${JSON.stringify(body)}`)
    if (body.name === 'too many') return problem(409, 'There are 100 saved views.', 'Delete those that are outdated.')
    const made = { ...(views[0] as SavedView), ...body, id: id ?? 'v-9' }
    stored = [made, ...stored.filter((view) => view.id !== id)]
    return Response.json(made, { status: 201 })
  })
  return { router, sent }
}

async function palette(text: string) {
  await screen.findByTestId('simulated-banner')
  await userEvent.keyboard('{Control>}k{/Control}')
  await userEvent.type(await screen.findByRole('combobox', { name: /^Find a service/ }), text)
}

async function openViews() {
  await palette('save this view{Enter}')
  return screen.findByRole('dialog', { name: 'Saved views' })
}

describe('saved views', () => {
  it('are found and opened in the search, at their very address', async () => {
    const { router } = openSaving('/hosts?from=-7d')
    await palette('wall')
    await userEvent.click(await screen.findByRole('option', { name: /wall/ }))
    await waitFor(() => expect(router.state.location.href).toBe('/status?from=-1h'))
  })

  it('keep path and query of what is shown, under a name', async () => {
    const { sent } = openSaving('/hosts?q=rack2&from=-1h')
    const dialog = await openViews()
    const form = within(dialog).getByRole('form', { name: 'Save this view' })
    await userEvent.type(within(form).getByLabelText('Name of this view'), 'rack two')
    await userEvent.click(within(form).getByRole('checkbox', { name: 'Share with everyone' }))
    await userEvent.click(within(form).getByRole('button', { name: 'Save view' }))
    expect(await within(dialog).findByRole('link', { name: 'rack two' })).toBeTruthy()
    expect(sent).toEqual(['POST {"name":"rack two","shared":true,"address":"/hosts?q=rack2&from=-1h"}'])
  })

  it('are renamed and deleted by those who may', async () => {
    const { sent } = openSaving('/status')
    const dialog = await openViews()
    await within(dialog).findByText('/status · shared by ben')
    expect(within(dialog).queryByRole('button', { name: 'Change the view wall' })).toBeNull()
    await userEvent.click(within(dialog).getByRole('button', { name: 'Change the view hot hosts' }))
    const form = within(dialog).getByRole('form', { name: 'Change hot hosts' })
    await userEvent.clear(within(form).getByLabelText('Name'))
    await userEvent.type(within(form).getByLabelText('Name'), 'rack one{Enter}')
    await within(dialog).findByRole('link', { name: 'rack one' })
    expect(sent).toEqual(['PUT {"name":"rack one","shared":false,"address":"/hosts?q=rack1"}'])
    await userEvent.click(within(dialog).getByRole('button', { name: 'Delete the view rack one…' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Delete the view rack one' }))
    await waitFor(() => expect(within(dialog).queryByRole('link', { name: 'rack one' })).toBeNull())
  })

  it('are not saved by those who are not logged in, who are told so; a refusal is shown', async () => {
    openSaving('/status', anonymous)
    expect((await openViews()).textContent).toContain('To save a view, log in.')
    expect(screen.queryByRole('form', { name: 'Save this view' })).toBeNull()
  })

  it('say why one was refused', async () => {
    openSaving('/status', { ...session, user_id: null })
    const dialog = await openViews()
    expect(within(dialog).getByRole('checkbox', { name: /without an account/ })).toHaveProperty('checked', true)
    await userEvent.type(within(dialog).getByLabelText('Name of this view'), 'too many{Enter}')
    expect((await within(dialog).findByRole('alert')).textContent).toContain('There are 100 saved views.')
  })
})

describe('the kiosk', () => {
  it('shows the page alone with the time of its data, kept in the address, until Escape', async () => {
    const { router } = openSaving('/hosts')
    await palette('kiosk{Enter}')
    expect((await screen.findByTestId('kiosk-bar')).textContent).toMatch(/Data of .* hosts reporting/)
    expect(router.state.location.search).toMatchObject({ kiosk: 1 })
    expect(screen.queryByRole('navigation', { name: 'Main' })).toBeNull()
    expect(screen.queryByTestId('time-range')).toBeNull()
    expect(screen.getByTestId('page-hosts')).toBeTruthy()
    await userEvent.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByTestId('kiosk-bar')).toBeNull())
    expect(router.state.location.href).toBe('/hosts')
    expect(screen.getByRole('navigation', { name: 'Main' })).toBeTruthy()
  })

  it('says that data have stopped', async () => {
    const grid = recorded('/v1/fleet/grid')
    const silent = { ...grid, hosts_reporting: 0 }
    openApp('/hosts?kiosk=1', (url) => (url.pathname === '/v1/fleet/grid' ? Response.json(silent) : undefined))
    const bar = await screen.findByTestId('kiosk-bar')
    expect((await within(bar).findByRole('alert')).textContent).toContain('Stale: no host reports')
  })

  it('goes through the shared views', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { router } = openSaving('/hosts?kiosk=30')
    await screen.findByText(/hosts reporting/)
    await act(() => vi.advanceTimersByTimeAsync(31_000))
    await waitFor(() => expect(router.state.location.pathname).toBe('/status'))
    expect(router.state.location.search).toMatchObject({ kiosk: 30, from: '-1h' })
  })
})
