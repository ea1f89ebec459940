import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem } from '../mock-api/answer'

const times = 'from=2026-11-20T21:00:00Z&to=2026-11-21T03:00:00Z'
const tab = `/services/svc-redis?tab=heatmap&${times}`

/** jsdom lays nothing out: elements have the width of a desktop. */
class Wide {
  private readonly report: ResizeObserverCallback
  constructor(report: ResizeObserverCallback) {
    this.report = report
  }
  observe(target: Element): void {
    const entry = { target, contentRect: new DOMRect(0, 0, 1200, 800) } as unknown as ResizeObserverEntry
    this.report([entry], this as unknown as ResizeObserver)
  }
  unobserve(): void {}
  disconnect(): void {}
}

beforeEach(() => {
  vi.stubGlobal('ResizeObserver', Wide)
})

/** Opens the app and notes what it asks of heat tiles; other hosts than h-1 have none where `missing`. */
function openHeatmap(path: string, missing = false) {
  const asked: Record<string, string>[] = []
  const router = openApp(path, (url) => {
    if (!url.pathname.endsWith('/tiles')) return undefined
    asked.push(Object.fromEntries(url.searchParams))
    const isOther = ![null, 'h-1'].includes(url.searchParams.get('host'))
    return missing && isOther ? problem(404, 'There are no tiles.', 'Leave out host and group.') : undefined
  })
  return { router, asked }
}

describe('the heatmap', () => {
  it('offers what it shows as a record of damo', async () => {
    const asked: URL[] = []
    openApp(tab, (url) => {
      if (!url.pathname.endsWith('/damo')) return undefined
      asked.push(url)
      return problem(404, 'There are no tiles.', 'Leave out host and group.')
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Download as a record of damo' }))
    expect(await screen.findByText(/There are no tiles/)).toBeTruthy()
    const [url] = asked
    expect(url?.pathname).toBe('/v1/services/svc-redis/tiles/damo')
    expect(url?.searchParams.get('from')).toBe('2026-11-20T21:00:00Z')
    expect(url?.searchParams.get('host')).toBeTruthy()
  })

  it('writes the host that it shows into the address, as no step of its own', async () => {
    const { router } = openHeatmap(tab)
    await screen.findByRole('application')
    await waitFor(() => expect(router.state.location.search).toMatchObject({ host: 'h-1' }))
    expect(router.history.length).toBe(1)
  })

  it('says that a host has no tiles, rather than what an API should be asked', async () => {
    openHeatmap(`${tab}&host=h-2`, true)
    expect((await screen.findByTestId('empty-state')).textContent).toContain('No heat tiles of this host')
  })

  it('shows page kinds side by side', async () => {
    openHeatmap(`${tab}&host=h-1&kinds=split`)
    const panels = await screen.findAllByTestId(/^chart-heatmap-/)
    expect(panels.map((panel) => within(panel).getByRole('heading').textContent)).toEqual(['anon', 'file', 'tmpfs'])
  })

  it('keeps the choice of a colour scale in the address', async () => {
    const { router } = openHeatmap(`${tab}&host=h-1`)
    await userEvent.click(await screen.findByRole('radio', { name: 'Full range' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ scale: 'full' }))
  })
})

describe('a comparison', () => {
  it('asks for the same memory earlier, and says what changed in numbers', async () => {
    const { asked } = openHeatmap(`${tab}&host=h-1&compare=-1h`)
    const sentence = await screen.findByTestId('heatmap-difference')
    expect(sentence.textContent).toMatch(/of the compared memory is hotter than 1 hour before/)
    expect(sentence.textContent).toMatch(/of the memory in view was sampled on both sides/)
    expect(asked.at(-1)).toMatchObject({ host: 'h-1', group: 'redis-server' })
    expect([asked.at(-1)?.['from'], asked.at(-1)?.['to']]).toEqual(['2026-11-20T20:00:00Z', '2026-11-21T02:00:00Z'])
  })

  it('is chosen from a list, and stands in the address', async () => {
    const { router } = openHeatmap(`${tab}&host=h-1`)
    await screen.findByRole('application')
    await userEvent.click(screen.getByTestId('heatmap-compare'))
    await userEvent.click(await screen.findByRole('option', { name: 'vs 1 day before', hidden: true }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ compare: '-1d' }))
  })

  it('says where the other side has nothing', async () => {
    openHeatmap(`${tab}&host=h-1&compare=host:h-2`, true)
    expect((await screen.findByTestId('empty-state')).textContent).toMatch(/^No heat tiles on /)
    expect(screen.queryByTestId('heatmap-difference')).toBeNull()
  })
})

describe('a selection', () => {
  it('has a link that names the time range, the host and the group that its rows are of', async () => {
    const user = userEvent.setup()
    const { router } = openHeatmap(
      '/services/svc-redis?tab=heatmap&from=2026-11-20T21:00:00Z&sel=1795224000~1795225000~2~9',
    )
    const panel = await screen.findByTestId('selection-panel')
    await waitFor(() => expect(router.state.location.search).toMatchObject({ host: 'h-1' }))
    await user.click(within(panel).getByRole('button', { name: 'Copy link to this selection' }))
    const search = new URL(await navigator.clipboard.readText()).searchParams
    expect(Object.fromEntries(search)).toMatchObject({
      from: '2026-11-20T21:00:00Z',
      host: 'h-1',
      group: 'redis-server',
      sel: '1795224000~1795225000~2~9',
    })
    expect(search.get('to')).toMatch(/^\d{4}-/)
    await waitFor(() => expect(panel.textContent).toContain('A row is as young as its youngest part'))
    expect(within(panel).getByTestId('chart-reaccess-gaps').textContent).toContain('not accessed again')
  })
})
