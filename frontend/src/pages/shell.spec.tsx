import { onlineManager } from '@tanstack/react-query'
import { act, cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem, recorded } from '../mock-api/answer'

afterEach(() => {
  vi.useRealTimers()
  onlineManager.setOnline(true)
})

describe('a lost connection', () => {
  it('is told at once when the browser is offline, with the time of what is shown; nothing claims to be live', async () => {
    openApp('/hosts')
    await screen.findByTestId('simulated-banner')
    expect(screen.queryByTestId('connection-banner')).toBeNull()
    expect(screen.getByTestId('live-dot').dataset['stale']).toBe('false')
    act(() => onlineManager.setOnline(false))
    expect((await screen.findByTestId('connection-banner')).textContent).toMatch(
      /^Offline\. Showing data of \d\d:\d\d\./,
    )
    expect(screen.getByTestId('live-dot').dataset['stale']).toBe('true')
    act(() => onlineManager.setOnline(true))
    await waitFor(() => expect(screen.queryByTestId('connection-banner')).toBeNull())
  })

  it('is told when the service does not answer, and no skeleton stays', async () => {
    openApp('/hosts', () => Promise.reject(new TypeError('Failed to fetch')))
    const banner = await screen.findByTestId('connection-banner')
    expect(banner.textContent).toContain('The service does not answer: The service cannot be reached; retrying.')
    expect(banner.textContent).toContain('Nothing has been loaded yet.')
    expect(await screen.findByTestId('problem-state')).toBeTruthy()
  })

  it('is not what a refusal is', async () => {
    openApp('/hosts', (url) => (url.pathname === '/v1/status' ? problem(401, 'Log in.', 'Log in.') : undefined))
    await screen.findByTestId('page-hosts')
    await screen.findAllByText('rack1-node01')
    expect(screen.queryByTestId('connection-banner')).toBeNull()
  })
})

describe('much work that came at once', () => {
  it.each([
    [{ span_seconds: 22 * 86_400, done_ratio: 0.384, seconds_left: 562 }, 'Catching up on 22 days: 38 %, about 9 min.'],
    [{ span_seconds: 10_800, done_ratio: 0, seconds_left: null }, 'Catching up on 3 h: 0 %.'],
    [{ span_seconds: 10_800, done_ratio: 0.999, seconds_left: 20 }, 'Catching up on 3 h: 99 %, less than a minute.'],
  ])('is told over every page in one sentence', async (progress, words) => {
    openApp('/hosts', (url) =>
      url.pathname === '/v1/status' ? Response.json({ ...recorded('/v1/status'), catching_up: progress }) : undefined,
    )
    expect((await screen.findByTestId('progress-banner')).textContent).toBe(
      `${words} Figures are of what is worked up so far.`,
    )
  })
})

describe('a database node that is away', () => {
  it('is told over the page, with its name and since when', async () => {
    const nodes = {
      name: 'nodes' as const,
      status: 'degraded' as const,
      detail: '2 of 3 nodes answer; away: n2',
      since: '2026-11-20T10:00:00Z',
    }
    openApp('/hosts', (url) =>
      url.pathname === '/v1/status'
        ? Response.json({ ...recorded('/v1/status'), components: [...recorded('/v1/status').components, nodes] })
        : undefined,
    )
    expect((await screen.findByTestId('nodes-banner')).textContent).toMatch(
      /^Figures leave out hosts: 2 of 3 nodes answer; away: n2 since 20 Nov 2026, \d\d:\d\d \S+\.$/,
    )
  })

  it('is no word where one server holds everything', async () => {
    openApp('/hosts')
    await screen.findByTestId('simulated-banner')
    expect(screen.queryByTestId('nodes-banner')).toBeNull()
  })
})

describe('an answer that takes long', () => {
  it('is announced as still loading', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    openApp('/hosts', (url) => (url.pathname === '/v1/hosts' ? new Promise(() => undefined) : undefined))
    await screen.findByTestId('page-hosts')
    expect(screen.queryByTestId('still-loading')).toBeNull()
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(screen.getAllByTestId('still-loading').length).toBeGreaterThan(0)
  })
})

describe('an id that does not exist', () => {
  it('leads to the list, not to the API', async () => {
    const missing = problem(404, 'no host has the id "nope"', 'List hosts with GET /v1/hosts.')
    openApp('/hosts/nope', (url) => (url.pathname === '/v1/hosts/nope' ? missing.clone() : undefined))
    const link = await screen.findByRole('link', { name: 'See all hosts' })
    expect(link.getAttribute('href')).toBe('/hosts')
    expect(screen.queryByText(/GET \/v1/)).toBeNull()
    cleanup()
    openApp('/services/nope', (url) => (url.pathname === '/v1/services/nope' ? missing.clone() : undefined))
    expect((await screen.findByRole('link', { name: 'See all services' })).getAttribute('href')).toBe('/services')
  })
})

describe('the time range', () => {
  it('says now on a page that does not follow it, and is kept for those that do', async () => {
    const router = openApp('/services?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z')
    await screen.findByTestId('page-services')
    expect(screen.getByTestId('time-range').textContent).toBe('now')
    await userEvent.click(screen.getByTestId('time-range'))
    expect(await screen.findByText(/This page tells of now/)).toBeTruthy()
    await act(() => router.navigate({ to: '/data-quality', search: (before) => before }))
    await screen.findByTestId('page-data-quality')
    expect(screen.getByTestId('time-range').textContent).toContain('2020')
  })
})

describe('tags', () => {
  it('narrow every list by the address, and are kept across pages until they are taken away', async () => {
    const asked: URL[] = []
    const router = openApp('/services?tags=rack=rack1,nonsense,kernel=6.12', (url) => {
      asked.push(url)
      return undefined
    })
    await screen.findByTestId('page-services')
    const tagsOf = (path: string) =>
      asked
        .filter(({ pathname }) => pathname === path)
        .at(-1)
        ?.searchParams.getAll('tag')
    expect(tagsOf('/v1/services')).toEqual(['rack=rack1', 'kernel=6.12'])
    expect(screen.getByTestId('tags-bar').textContent).toBe('Onlyrack=rack1kernel=6.12')
    await act(() => router.navigate({ to: '/alerts' }))
    await screen.findByTestId('page-alerts')
    expect(tagsOf('/v1/alerts')).toEqual(['rack=rack1', 'kernel=6.12'])
    expect(screen.getByTestId('tags-bar').textContent).toContain('routes hold for all hosts')
    await userEvent.click(screen.getByRole('button', { name: /kernel=6.12/ }))
    await waitFor(() => expect(tagsOf('/v1/alerts')).toEqual(['rack=rack1']))
    await userEvent.click(screen.getByRole('button', { name: /rack=rack1/ }))
    await waitFor(() => expect(tagsOf('/v1/alerts')).toEqual([]))
    expect(screen.queryByTestId('tags-bar')).toBeNull()
    expect(router.state.location.searchStr).toBe('')
  })

  it('are chosen from those that hosts have, and say where they do not narrow', async () => {
    const router = openApp('/status')
    await screen.findByTestId('simulated-banner')
    await userEvent.click(screen.getByTestId('tags'))
    await userEvent.click(await screen.findByRole('combobox', { name: 'Show only' }))
    await userEvent.click(await screen.findByRole('option', { name: /rack1/ }))
    await waitFor(() => expect(router.state.location.search).toEqual({ tags: 'rack=rack1' }))
    expect(screen.getByTestId('tags-bar').textContent).toContain('whatever is chosen here')
  })
})

describe('the search', () => {
  it('offers actions, and what was opened before', async () => {
    const router = openApp('/status')
    await screen.findByTestId('simulated-banner')
    await userEvent.keyboard('{Control>}k{/Control}')
    const input = await screen.findByRole('combobox', { name: /^Find a service/ })
    await userEvent.type(input, 'rack2-node02')
    await userEvent.click(await screen.findByRole('option', { name: /rack2-node02/ }))
    expect(router.state.location.pathname).toBe('/hosts/h-2')
    await userEvent.keyboard('{Control>}k{/Control}')
    const options = await screen.findAllByRole('option')
    expect(options[0]?.textContent).toBe('recentrack2-node02host')
    const actions = options.filter((option) => within(option).queryByText('action') !== null)
    expect(actions.map((option) => option.textContent?.replace('action', ''))).toEqual([
      'Add hosts',
      'New rule',
      'New experiment',
      'Compute TCO',
      'Save this view',
      'Kiosk',
      'Toggle theme',
    ])
    await userEvent.type(screen.getByRole('combobox', { name: /^Find a service/ }), 'add hosts{Enter}')
    expect(router.state.location.pathname).toBe('/add-hosts')
  })

  it('opens by keyboard, says which hit is chosen, and goes where it leads', async () => {
    const router = openApp('/status')
    await screen.findByTestId('simulated-banner')
    await userEvent.keyboard('{Control>}k{/Control}')
    const input = await screen.findByRole('combobox', { name: /^Find a service/ })
    expect(document.activeElement).toBe(input)
    const chosen = () => document.getElementById(input.getAttribute('aria-activedescendant') ?? '')
    const first = await waitFor(() => {
      expect(chosen()?.getAttribute('aria-selected')).toBe('true')
      return chosen()
    })
    expect(first?.closest('[role=listbox]')?.id).toBe(input.getAttribute('aria-controls'))
    await userEvent.keyboard('{ArrowDown}')
    expect(chosen()).not.toBe(first)
    expect(chosen()?.getAttribute('aria-selected')).toBe('true')
    expect(first?.getAttribute('aria-selected')).toBe('false')
    await userEvent.keyboard('{ArrowUp}')
    expect(chosen()).toBe(first)
    await userEvent.keyboard('add hosts{Enter}')
    await waitFor(() => expect(router.state.location.pathname).toBe('/add-hosts'))
  })
})
