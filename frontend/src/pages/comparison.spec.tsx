import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'

const times = 'from=2026-11-20T21:00:00Z&to=2026-11-21T03:00:00Z'

/** Opens the app and notes what it asks of one route, by the end of its path. */
function openAndNote(path: string, end: string) {
  const asked: { path: string; from: string | null; to: string | null }[] = []
  const router = openApp(path, ({ pathname, searchParams }) => {
    if (pathname.endsWith(end))
      asked.push({ path: pathname, from: searchParams.get('from'), to: searchParams.get('to') })
    return undefined
  })
  return { router, asked }
}

const legendOf = async (chart: string) => (await screen.findByTestId(chart)).textContent

describe('charts that are not over time', () => {
  const tabs = [
    ['revisit', '/revisit', 'chart-revisit'],
    ['curve', '/curve', 'chart-curve'],
    ['sensitivity', '/sensitivity', 'chart-sensitivity'],
    ['overview', '/heat', 'chart-age-histogram'],
  ] as const

  it.each(tabs)('of the tab %s ask for a day earlier and name it in their legend', async (tab, end, chart) => {
    const { asked } = openAndNote(`/services/svc-redis?tab=${tab}&compare=-1d&${times}`, end)
    await waitFor(async () => expect(await legendOf(chart)).toContain('1 day before'))
    expect(asked.map(({ from }) => from)).toContain('2026-11-19T21:00:00Z')
  })

  it('draw what follows an event beside what was before it, and leave figures to the whole range', async () => {
    const { asked } = openAndNote(`/services/svc-redis?tab=revisit&compare=event:3&${times}`, '/revisit')
    await waitFor(() => expect(asked).toHaveLength(3))
    const [page, after, before] = asked
    expect(page?.from).toBe('2026-11-20T21:00:00Z')
    expect(after?.to).toBe('2026-11-21T03:00:00Z')
    expect(before?.to).toBe(after?.from)
  })
})

describe('charts of the fleet', () => {
  it('are set beside the fleet an hour earlier', async () => {
    const { asked } = openAndNote(`/?compare=-1h&${times}`, '/v1/fleet')
    await waitFor(async () => expect(await legendOf('chart-fleet-psi')).toContain('1 hour before'))
    expect(asked.map(({ from }) => from)).toContain('2026-11-20T20:00:00Z')
    expect(await legendOf('chart-matrix')).toContain('Cold share against 1 hour before')
    expect(await legendOf('chart-matrix')).toContain('hotter')
  })
})

describe('the bench of a host', () => {
  it('is set beside that of another host', async () => {
    const { asked } = openAndNote(`/hosts/h-1?tab=hardware&compare=host:h-2&${times}`, '/hosts/h-2')
    await waitFor(() => expect(asked.length).toBeGreaterThan(0))
    await waitFor(async () => expect(await legendOf('chart-loaded-latency')).toContain('rack2-node02'))
  })

  it('has no earlier one, and says so', async () => {
    openApp(`/hosts/h-1?tab=hardware&compare=-1d&${times}`)
    expect(await screen.findByText(/the newest bench alone is kept/)).toBeTruthy()
  })
})

describe('charts over time', () => {
  it('of a host ask for the same counter a day earlier, and name it in their legend', async () => {
    const { asked } = openAndNote(`/hosts/h-1?tab=counters&compare=-1d&${times}`, '/counters')
    await waitFor(async () => expect(await legendOf('chart-counter')).toContain('1 day before'))
    expect(asked).toContainEqual({
      path: '/v1/hosts/h-1/counters',
      from: '2026-11-19T21:00:00Z',
      to: '2026-11-20T03:00:00Z',
    })
  })

  it('of a host are set beside another host in the same time range', async () => {
    const { asked } = openAndNote(`/hosts/h-1?tab=moves&compare=host:h-2&${times}`, '/ledger')
    await waitFor(() => expect(asked.map(({ path }) => path)).toContain('/v1/hosts/h-2/ledger'))
    expect(new Set(asked.map(({ from }) => from)).size).toBe(1)
  })

  it('of a service are set beside another service', async () => {
    const { asked } = openAndNote(`/services/svc-redis?compare=service:svc-feed&${times}`, '/heat')
    await waitFor(() => expect(asked.map(({ path }) => path)).toContain('/v1/services/svc-feed/heat'))
  })

  it('set as much time before an event beside what follows it', async () => {
    const { asked } = openAndNote(`/services/svc-redis?tab=moves&compare=event:3&${times}`, '/ledger')
    await waitFor(() => expect(asked.length).toBeGreaterThan(1))
    const [from, to] = [asked.at(-1)?.from ?? '', asked.at(-1)?.to ?? ''].map(Date.parse)
    expect((from ?? 0) + 2 * ((to ?? 0) - (from ?? 0))).toBe(Date.parse('2026-11-21T03:00:00Z'))
    await waitFor(async () => expect(await legendOf('chart-ledger')).toContain('before deploy: release 2026.47'))
  })

  it('say where there is no other side: an event beyond the range, or a host on a service page', async () => {
    openApp(`/services/svc-redis?tab=moves&compare=event:gone&${times}`)
    expect((await screen.findAllByText(/is not within this time range/)).length).toBeGreaterThan(0)
  })

  it('are compared by a choice that stands in the address and is reset beside it', async () => {
    const { router } = openAndNote(`/hosts/h-1?tab=moves&${times}`, '/ledger')
    await userEvent.click(await screen.findByTestId('compare'))
    await userEvent.click(await screen.findByRole('option', { name: 'vs 1 hour before', hidden: true }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ compare: '-1h' }))
    await userEvent.click(within(screen.getByTestId('page-host')).getByRole('button', { name: 'Reset comparison' }))
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty('compare', '-1h'))
  })
})

describe('the network of both sides', () => {
  it('is warned of where RDMA is on one side alone, and not where it is alike', async () => {
    openApp(`/services/svc-redis?tab=curve&compare=service:svc-web&${times}`)
    expect((await screen.findByTestId('network-note')).textContent).toContain('100 % of the hosts of svc-redis')
    cleanup()
    const { asked } = openAndNote(`/services/svc-redis?tab=curve&compare=-1d&${times}`, '/network')
    await waitFor(() => expect(asked).toHaveLength(1))
    await waitFor(async () => expect(await legendOf('chart-curve')).toContain('1 day before'))
    expect(screen.queryByTestId('network-note')).toBeNull()
  })
})
