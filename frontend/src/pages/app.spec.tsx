import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem, recorded } from '../mock-api/answer'
import { figure, nothing } from '../mock-api/figures'

describe('the fleet page', () => {
  it('answers first, labels simulated data, and gives figures their evidence', async () => {
    openApp('/')
    expect((await screen.findByTestId('headline')).textContent).toContain('is cold')
    expect(await screen.findByTestId('simulated-banner')).toBeTruthy()
    expect(screen.getByTestId('page-fleet')).toBeTruthy()
    expect(await screen.findByTestId('chart-matrix')).toBeTruthy()
    expect(screen.getAllByTestId('figure-heat.cold_ratio/1').length).toBeGreaterThan(1)
  })

  it('says how many alerts fire, and leads to them', async () => {
    openApp('/')
    const firing = await screen.findByTestId('firing-alerts')
    await waitFor(() => expect(firing.textContent).toBe('2 alerts firing (1 critical), 1 pending'))
    expect(firing.getAttribute('href')).toContain('/alerts')
  })

  it('shows the problem that the service names, and recovers on retry', async () => {
    let broken = true
    openApp('/', (url) =>
      broken && url.pathname === '/v1/fleet' ? problem(503, 'The database restarts.', 'Wait a minute.') : undefined,
    )
    const alert = await screen.findByTestId('problem-state')
    expect(alert.textContent).toContain('The database restarts.')
    expect(alert.textContent).toContain('Wait a minute.')
    broken = false
    await userEvent.click(screen.getByRole('button', { name: 'Retry' }))
    expect(await screen.findByTestId('headline')).toBeTruthy()
  })

  it('says how to begin when no host reports', async () => {
    openApp('/', async (url) => {
      if (url.pathname !== '/v1/fleet') return undefined
      return Response.json({
        ...recorded('/v1/fleet'),
        hosts_total: 0,
        hosts_reporting: 0,
        services: [],
        causes: [],
        hosts_in_need: 0,
        hosts_critical: 0,
        matrix: [],
        moves: [],
        psi: [],
      })
    })
    expect(await screen.findByText('No host reports yet')).toBeTruthy()
    expect(screen.getByText('No service has been measured yet')).toBeTruthy()
  })

  it('asks for the range of the URL', async () => {
    const asked: string[] = []
    openApp('/?from=-24h', (url) => {
      asked.push(url.pathname + url.search)
      return undefined
    })
    await screen.findByTestId('headline')
    expect(asked).toContain('/v1/fleet?from=-24h')
  })
})

describe('the service page', () => {
  it('keeps tab and scheme in the URL, and the range across pages', async () => {
    const router = openApp('/services/svc-redis?from=-1h')
    await screen.findByTestId('scheme-words')
    await userEvent.click(screen.getByRole('radio', { name: 'Frequency' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ scheme: 'frequency', from: '-1h' }))
    await userEvent.click(screen.getByRole('tab', { name: 'Tier moves' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ tab: 'moves', scheme: 'frequency' }))
    expect((await screen.findByTestId('ping-pong-kind')).textContent).toBe('bounds')
    await userEvent.click(screen.getByRole('link', { name: 'Hosts' }))
    await screen.findByTestId('page-hosts')
    expect(router.state.location.search).toMatchObject({ from: '-1h' })
  })

  it('says where heat is not collected, and why', async () => {
    openApp('/services/svc-batch')
    expect(await screen.findByText(/Heat is opt-in/)).toBeTruthy()
  })

  it('draws what the service says of itself, and says how it was measured', async () => {
    openApp('/services/svc-redis')
    expect(await screen.findByTestId('chart-service-throughput')).toBeTruthy()
    expect(screen.getByTestId('chart-service-latency')).toBeTruthy()
    expect(screen.queryByTestId('chart-service-load')).toBeNull()
    expect((await screen.findByTestId('measured-by')).textContent).toContain('accessed bits, single pages, every 1 min')
    expect(screen.getByTestId('beside-heat').textContent).toContain('skewed')
    expect(screen.getByTestId('beside-heat').textContent).toContain('of hot memory, at least and at most')
  })

  it('shows what hardware samples tell, and refuses what they cannot', async () => {
    openApp('/services/svc-redis', async (url) => {
      if (!url.pathname.endsWith('/heat')) return undefined
      const events = figure('samples.load_events/1', 3.2e6, 'events')
      const windows = [
        {
          intervals: 1,
          coverage: figure('samples.coverage/1', 0.42, 'ratio'),
          touched_bytes: nothing('heat.touched_bytes/1', 'bytes', 'not_enough_data', 'Too few samples for a claim.'),
        },
      ]
      const samples = figure('samples.loads/1', 4000, 'samples')
      const sampling = { loads: samples, stores: samples, load_events: events, store_events: events, windows }
      return Response.json({ ...recorded('/v1/services/{service_id}/heat'), backend: 'pebs', sampling })
    })
    const panel = await screen.findByTestId('sampling')
    expect(panel.textContent).toContain('4,000')
    expect(panel.textContent).toContain('not enough data')
    expect(screen.getByTestId('measured-by').textContent).toContain('PEBS')
  })

  it('says that a service is unknown', async () => {
    openApp('/services/none')
    expect(await screen.findByText('No service has the id none')).toBeTruthy()
    expect(screen.getByRole('link', { name: 'See all services' })).toBeTruthy()
  })
})

describe('the analytics of a service', () => {
  it('lists events as text, and stops marking them on request', async () => {
    const router = openApp('/services/svc-redis?tab=moves')
    const control = await screen.findByTestId('events-control')
    await waitFor(() => expect(control.textContent).toContain('3 events'))
    await userEvent.click(control)
    const list = await screen.findByRole('list', { name: 'Events, newest first' })
    expect(list.textContent).toContain('<img src=x onerror=alert(1)>')
    expect(list.querySelector('img')).toBeNull()
    expect(list.textContent).not.toContain('release 9')
    await userEvent.click(screen.getByRole('switch', { name: 'Mark events and alerts on charts' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ marks: 'off' }))
  })

  it('says why there are no revisit times, with code as code', async () => {
    openApp('/services/svc-pg?tab=revisit')
    const chart = await screen.findByTestId('chart-revisit')
    await waitFor(() => expect(chart.querySelector('code')?.textContent).toBe('--heat abit_walk'))
  })

  it('keeps the clock and the kind of the revisit curve in the URL', async () => {
    const router = openApp('/services/svc-redis?tab=revisit')
    await userEvent.click(await screen.findByRole('radio', { name: 'Since turning cold' }))
    await userEvent.click(await screen.findByRole('radio', { name: 'file' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ clock: 'turned_cold', kind: 'file' }))
    expect((await screen.findByTestId('objectives')).textContent).toContain('meets the target')
  })

  it('refuses an elasticity with every reason, beside one that it gives', async () => {
    openApp('/services/svc-redis?tab=sensitivity')
    const anon = await screen.findByTestId('elasticity-anon')
    expect(anon.textContent).toContain('0.42')
    const file = screen.getByTestId('elasticity-file')
    expect(file.textContent).toContain('refused')
    expect(file.querySelectorAll('li')).toHaveLength(2)
    expect((await screen.findByTestId('stability')).textContent).toContain('volatile')
  })

  it('advises a ratio that opens to its formula and assumptions, and follows the loss target', async () => {
    const router = openApp('/services/svc-redis?tab=advice')
    const sentence = await screen.findByTestId('ratio-sentence')
    expect(sentence.textContent).toContain('1:1')
    await userEvent.click(screen.getByRole('radio', { name: '1 %' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ loss: 0.01 }))
    await waitFor(() => expect(screen.getByTestId('ratio-sentence').textContent).toContain('2:1'))
    await userEvent.click(screen.getByRole('button', { name: /Formula/ }))
    expect(await screen.findByText(/loss \/ \(1 - loss\) = a/)).toBeTruthy()
    expect((await screen.findByTestId('slowdown-points')).textContent).toContain('two racks, <b>one day</b>')
  })

  it('refuses advice without data with the command that changes that, and shows no figure as zero', async () => {
    openApp('/services/svc-pg?tab=advice')
    const refused = await screen.findByTestId('ratio-refused')
    expect(refused.textContent).toContain('sudoedit /etc/tierscope/agent.toml')
    expect(screen.queryByTestId('ratio-candidates')).toBeNull()
  })

  it('gives a range with its grade, what would firm it up and when, and the answer of each kind of host', async () => {
    openApp('/services/svc-feed?tab=advice')
    expect((await screen.findByTestId('ratio-sentence')).textContent).toContain('2:1 needs a test')
    expect(screen.getByTestId('ratio-scope').textContent).toContain('nights and weekends')
    const steps = screen.getByTestId('ratio-steps')
    expect(steps.textContent).toContain('tierscope experiments plan')
    expect(steps.textContent).toContain('provisional from')
    expect(steps.textContent).toContain('would narrow it by 70 %, to 40 % – 60 % of the memory in DRAM')
    expect(screen.getByTestId('chart-ratio-waterfall').textContent).toContain('6 of 7 days, firm on 28 Nov')
    const parts = screen.getByTestId('ratio-parts')
    expect(parts.textContent).toContain('400 GiB')
    expect(within(parts).getByRole('link', { name: 'Heatmap' }).getAttribute('href')).toContain('tab=heatmap')
    const cost = within(screen.getByTestId('ratio-chain')).getByRole('link', { name: 'Cost it' })
    expect(cost.getAttribute('href')).toMatch(/^\/tco\?.*start=cxl&service=svc-feed&share=0\.66/)
    const kinds = screen.getByTestId('ratio-kinds')
    expect(kinds.textContent).toContain('all DRAM to 1:2')
    expect(kinds.textContent).toContain('no answer')
    expect((await screen.findByTestId('ratio-candidates')).textContent).toContain('needs a test, most likely')
  })

  it('judges ping-pong over time, and advises to stop', async () => {
    openApp('/services/svc-redis?tab=moves')
    const panel = await screen.findByTestId('stop-moving')
    await waitFor(() => expect(panel.textContent).toContain('Stop tier moves'))
    expect((await screen.findByTestId('ping-pong-spans')).textContent).toContain('ongoing')
  })
})

describe('the host page', () => {
  it('advises on settings with files to take away, what waits, and what is not known', async () => {
    openApp('/hosts/h-1?tab=advice')
    const card = await screen.findByTestId('advice-F2')
    expect(card.textContent).toContain('/sys/kernel/mm/numa/demotion_enabled')
    await userEvent.click(screen.getByRole('button', { name: 'Files and commands of F2' }))
    expect(await screen.findByLabelText('Commands of F2')).toBeTruthy()
    expect(screen.getByTestId('advice-F8').textContent).toContain('waiting:')
    expect(screen.getByTestId('knob-unknown').textContent).toContain('F7')
    expect(screen.getByTestId('knob-unknown').textContent).toContain('DAMON moves hot pages up')
    expect(screen.getByTestId('knob-states').textContent).toContain('differs')
  })

  it('shows nodes by tier, findings with their fix, the worst first', async () => {
    openApp('/hosts/h-1')
    expect(await screen.findByTestId('node-2')).toBeTruthy()
    const findings = await screen.findByTestId('findings')
    expect(findings.textContent?.indexOf('demoted before')).toBeLessThan(findings.textContent?.indexOf('clock') ?? -1)
    expect(findings.textContent).toContain('Fix:')
    const advised = recorded('/v1/hosts/{host_id}/knob-advice', 'h-1').advice[0]?.title
    expect(within(findings).getAllByRole('link', { name: advised }).length).toBeGreaterThan(0)
    expect(screen.getByTestId('chart-host-triage')).toBeTruthy()
  })

  it('says that nothing needs fixing only where no setting is worth a change either', async () => {
    const well = (advice: unknown[]) => (url: URL) => {
      if (url.pathname === '/v1/hosts/h-2') {
        const host = recorded('/v1/hosts/{host_id}', 'h-2')
        const summary = { ...host.summary, state: 'reporting', verdict: 'healthy', tiering_off: false, findings: [] }
        return Response.json({ ...host, summary })
      }
      return url.pathname.endsWith('/knob-advice')
        ? Response.json({ ...recorded('/v1/hosts/{host_id}/knob-advice', 'h-2'), advice })
        : undefined
    }
    openApp('/hosts/h-2', well([]))
    await waitFor(() =>
      expect(screen.getByTestId('findings').textContent).toContain('Nothing on this host needs fixing'),
    )
    cleanup()
    openApp('/hosts/h-2', well(recorded('/v1/hosts/{host_id}/knob-advice', 'h-2').advice))
    await screen.findByRole('list', { name: 'What is wrong, do this' })
    expect(screen.getByTestId('findings').textContent).not.toContain('Nothing on this host needs fixing')
  })

  it('says why a counter is missing', async () => {
    openApp('/hosts/h-1?tab=counters&counter=pgnope')
    const chart = await screen.findByTestId('chart-counter')
    await waitFor(() => expect(chart.textContent).toContain('This kernel has no pgnope'))
  })

  it('says why a collector is off and what would turn it on', async () => {
    openApp('/hosts/h-1?tab=setup')
    const collectors = await screen.findByTestId('collectors')
    await waitFor(() => expect(collectors.textContent).toContain('perf_event_paranoid is 3'))
    expect(collectors.textContent).toContain('Root would add: pebs.')
  })

  it('says what a collector sees, costs and needs, and when it fails', async () => {
    openApp('/hosts/h-1?tab=setup')
    const collectors = await screen.findByTestId('collectors')
    await waitFor(() => expect(collectors.textContent).toContain('not which pages'))
    expect(collectors.textContent).toContain('CAP_SYS_PTRACE')
    expect(collectors.textContent).toContain('failing')
    const agent = screen.getByTestId('agent')
    expect(agent.textContent).toContain('backed off')
    expect(agent.textContent).toContain('heat paused everywhere')
    expect(agent.querySelector('[data-testid="figure-agent.throttles/1"]')?.textContent).toContain('not collected')
  })

  it('tells the value of a setting as the advice does, and what else the kernel offers', async () => {
    openApp('/hosts/h-1?tab=setup')
    const row = (await screen.findByText('/sys/kernel/mm/transparent_hugepage/enabled')).closest('tr')
    expect(row?.querySelector('[data-setting]')?.textContent).toBe('madvise')
    expect(row?.textContent).toContain('madvise of always, madvise, never')
  })

  it('shows measured tiers, a degraded link and what cannot move', async () => {
    openApp('/hosts/h-1?tab=hardware')
    const bench = await screen.findByTestId('bench')
    await waitFor(() => expect(bench.textContent).toContain('Idle latency'))
    expect(bench.textContent).toContain('the processor has no non-temporal stores')
    expect(bench.textContent).toContain('disturbed')
    expect(screen.getByTestId('chart-loaded-latency')).toBeTruthy()
    const cxl = screen.getByTestId('cxl')
    expect(cxl.textContent).toContain('degraded')
    expect(cxl.textContent).toContain('x8 at 16 GT/s')
    expect(screen.getByTestId('unmovable').textContent).toContain('64 MiB')
  })
})
