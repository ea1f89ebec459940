import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const anonymous = recorded('/v1/session', '', 'as=anonymous')
const pauses = recorded('/v1/agents/pauses')

describe('the agents page', () => {
  it('shows releases side by side, and the hosts that are behind', async () => {
    openApp('/agents')
    expect((await screen.findByTestId('headline')).textContent).toContain('12 of 18 hosts run the release')
    const versions = screen.getByTestId('agent-versions')
    expect(within(versions).getByText('too old')).toBeTruthy()
    expect(within(versions).getByText('66.7 %')).toBeTruthy()
    const hosts = screen.getByTestId('agent-hosts')
    expect(within(hosts).queryByText('rack1-node01')).toBeNull()
    expect(within(hosts).getByText('refused')).toBeTruthy()
    await userEvent.click(screen.getByRole('radio', { name: 'All' }))
    expect(await within(hosts).findByText('rack1-node01')).toBeTruthy()
  })

  it('leads to the page that adds hosts', async () => {
    openApp('/agents')
    await screen.findByTestId('headline')
    const links = screen.getAllByRole('link', { name: 'Add hosts' })
    expect(new Set(links.map((link) => link.getAttribute('href')))).toEqual(new Set(['/add-hosts']))
    expect(within(screen.getByTestId('page-agents')).getByRole('link', { name: 'Add hosts' })).toBeTruthy()
  })

  it('says when no agent is behind, when there is none, and when it may not be read', async () => {
    openApp('/agents', (url) =>
      url.pathname === '/v1/agents/versions'
        ? Response.json({
            ...recorded('/v1/agents/versions', '', 'outdated=true'),
            versions: [],
            hosts: { items: [], next_cursor: null },
          })
        : undefined,
    )
    expect(await screen.findByText('No outdated agents')).toBeTruthy()
    expect(screen.getByText('No agent has reported yet')).toBeTruthy()
    cleanup()
    openApp('/agents', (url) =>
      url.pathname === '/v1/agents/versions' ? problem(403, 'ben does not have `read:agents`.', 'Ask.') : undefined,
    )
    expect((await screen.findByTestId('problem-state')).textContent).toContain('does not have')
  })
})

describe('the kill switch', () => {
  it('pauses the agent of a live host, heat alone or everything', async () => {
    const sent: unknown[] = []
    const host = recorded('/v1/hosts/{host_id}', 'h-1')
    openApp('/hosts/h-1?tab=setup', async (url, request) => {
      if (url.pathname === '/v1/hosts/h-1') {
        const pause = { paused: false, heat_paused: false, everywhere: false, since: null, actor: null }
        return Response.json({
          ...host,
          summary: { ...host?.summary, origin: 'live' },
          agent: { ...host?.agent, pause },
        })
      }
      if (url.pathname !== '/v1/agents/pause') return undefined
      sent.push(await request.json())
      return Response.json({ changed: 1, pauses })
    })
    const panel = await screen.findByTestId('agent')
    await userEvent.click(await within(panel).findByRole('button', { name: 'Pause' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Pause heat only' }))
    await waitFor(() => expect(sent).toEqual([{ host_id: 'h-1', heat_only: true }]))
  })

  it('is not offered for recordings, nor to others', async () => {
    openApp('/hosts/h-1?tab=setup')
    const panel = await screen.findByTestId('agent')
    await within(panel).findByText('heat paused everywhere')
    expect(within(panel).queryByRole('button', { name: /Pause|Resume/ })).toBeNull()
    cleanup()
    openApp('/agents', (url) => (url.pathname === '/v1/session' ? Response.json(anonymous) : undefined))
    await within(await screen.findByTestId('pauses')).findByText('ana')
    expect(screen.queryByRole('button', { name: /Resume/ })).toBeNull()
  })

  it('is ended from the list of pauses, and says why it could not be', async () => {
    const sent: unknown[] = []
    openApp('/agents', async (url, request) => {
      if (url.pathname !== '/v1/agents/resume') return undefined
      sent.push(await request.json())
      return problem(409, 'every host is paused, by ana', 'End that first.')
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Resume h-4' }))
    await waitFor(() => expect(screen.getByRole('alert').textContent).toContain('Every host is paused, by ana'))
    expect(sent).toEqual([{ host_id: 'h-4', heat_only: true }])
  })
})

describe('the data-quality page', () => {
  it('answers first; zero and not collected look different', async () => {
    openApp('/data-quality')
    expect((await screen.findByTestId('headline')).textContent).toBe(
      '95.8 % of the intervals expected from 2 hosts arrived; 1 host has no gaps. 1 clock is off.',
    )
    const hosts = await screen.findByTestId('quality-hosts')
    expect(within(hosts).getAllByText('0').length).toBeGreaterThan(0)
    expect(within(hosts).getAllByText('not collected')).toHaveLength(2)
    expect(within(hosts).getByText('max mappings')).toBeTruthy()
    expect(screen.getByTestId('chart-gap-timeline')).toBeTruthy()
  })

  it('pages through hosts', async () => {
    const asked: (string | null)[] = []
    openApp('/data-quality', (url) => {
      if (url.pathname !== '/v1/data-quality') return undefined
      asked.push(url.searchParams.get('cursor'))
      const view = recorded('/v1/data-quality')
      return Response.json({ ...view, hosts: { ...view.hosts, next_cursor: asked.length === 1 ? 'abc' : null } })
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Next hosts' }))
    await waitFor(() => expect(asked).toContain('abc'))
  })

  it('says when nothing was expected, and what is wrong when it fails', async () => {
    openApp('/data-quality', (url) => {
      if (url.pathname !== '/v1/data-quality') return undefined
      const view = recorded('/v1/data-quality')
      const none = { ...view.fleet.expected_intervals, value: 0 }
      const empty = { items: [], next_cursor: null }
      return Response.json({ ...view, fleet: { ...view.fleet, expected_intervals: none }, hosts: empty })
    })
    expect(await screen.findByText('No host was enrolled in this time range')).toBeTruthy()
    expect(screen.getByText('No gaps on these hosts')).toBeTruthy()
    cleanup()
    openApp('/data-quality', (url) =>
      url.pathname === '/v1/data-quality' ? problem(400, 'At most 8 days are read.', 'Narrow the range.') : undefined,
    )
    expect((await screen.findByTestId('problem-state')).textContent).toContain('At most 8 days')
  })
})

describe('labels of hosts', () => {
  it('say where they come from, and are set here', async () => {
    const sent: unknown[] = []
    openApp('/hosts/h-1?tab=setup', async (url, request) => {
      if (request.method !== 'PUT') return undefined
      sent.push([url.pathname, await request.json()])
      return Response.json({})
    })
    const panel = await screen.findByTestId('labels')
    expect((await within(panel).findByText('its agent: r9')).textContent).toBeTruthy()
    await userEvent.click(within(panel).getByRole('button', { name: 'Edit' }))
    const field = within(panel).getByRole('textbox')
    await userEvent.type(field, '\nnonsense')
    expect(within(panel).getByText(/is not a label/)).toBeTruthy()
    await userEvent.clear(field)
    await userEvent.type(field, 'rack=r7')
    await userEvent.click(within(panel).getByRole('button', { name: 'Save labels' }))
    await waitFor(() => expect(sent).toEqual([['/v1/hosts/h-1/labels', { labels: { rack: 'r7' } }]]))
  })

  it('come by CSV, after a look at what would change', async () => {
    const sent: string[] = []
    openApp('/hosts', async (url, request) => {
      if (url.pathname !== '/v1/hosts/labels') return undefined
      sent.push(`${url.search} ${request.headers.get('content-type') ?? ''} ${await request.clone().text()}`)
      return undefined
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Labels by CSV' }))
    const file = new File(['host,rack\nrack1-node01,r2\n'], 'labels.csv', { type: 'text/csv' })
    await userEvent.upload(await screen.findByLabelText('CSV file of labels'), file)
    const preview = await screen.findByTestId('labels-preview')
    expect(preview.textContent).toContain('1 host would change')
    expect(preview.textContent).toContain('rack9-node99')
    expect(screen.getByText('The label is longer than 63 characters.')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Change 1 host' }))
    await waitFor(() => expect(screen.getByTestId('labels-preview').textContent).toContain('was changed'))
    expect(sent).toEqual([
      '?dry_run=true text/csv host,rack\nrack1-node01,r2\n',
      '?dry_run=false text/csv host,rack\nrack1-node01,r2\n',
    ])
  })
})

describe('removing a host', () => {
  it('takes its name, shows progress, and ends with a report', async () => {
    const sent: unknown[] = []
    let asked = 0
    openApp('/hosts/h-1?tab=setup', async (url, request) => {
      if (url.pathname === '/v1/hosts/h-1/purge') {
        sent.push(await request.json())
        return Response.json(recorded('/v1/hosts/{host_id}/purge'), { status: 202 })
      }
      if (url.pathname !== '/v1/purges/p-1') return undefined
      asked += 1
      return Response.json(recorded('/v1/purges/{purge_id}', 'p-1', asked === 1 ? 'status=running' : ''))
    })
    const panel = await screen.findByTestId('purge')
    const button = within(panel).getByRole('button', { name: 'Delete permanently' })
    expect(button.hasAttribute('disabled')).toBe(true)
    await userEvent.type(within(panel).getByRole('textbox'), 'rack1-node01')
    await userEvent.click(button)
    expect(await within(panel).findByText(/Running: 40 % done/)).toBeTruthy()
    expect(await within(panel).findByText(/: Done\./)).toBeTruthy()
    expect(within(panel).getByText('123,456')).toBeTruthy()
    expect(sent).toEqual([{ confirm: 'rack1-node01' }])
  })

  it('is not offered to others', async () => {
    openApp('/hosts/h-1?tab=setup', (url) => (url.pathname === '/v1/session' ? Response.json(anonymous) : undefined))
    await screen.findByTestId('labels')
    await screen.findByRole('link', { name: 'Log in' })
    expect(screen.queryByTestId('purge')).toBeNull()
    expect(screen.queryByRole('button', { name: 'Edit' })).toBeNull()
  })
})

describe('the owner of a service', () => {
  it('is shown, and changed by administrators', async () => {
    const sent: unknown[] = []
    openApp('/services/svc-pg', async (url, request) => {
      if (!url.pathname.endsWith('/owner')) return undefined
      sent.push([request.method, await request.json()])
      return Response.json({})
    })
    const owner = await screen.findByRole('button', { name: 'owned by no team' })
    await userEvent.click(owner)
    await userEvent.click(await screen.findByRole('combobox', { name: 'Team that owns this service' }))
    await userEvent.click(await screen.findByRole('option', { name: 'Storage' }))
    await waitFor(() => expect(sent).toEqual([['PUT', { team_id: 'team-1' }]]))
  })
})
