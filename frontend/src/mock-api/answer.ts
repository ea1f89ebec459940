import { causesOf, writeCause } from '../lib/fleet/causes'
import { advice } from './advice'
import { alertDetail, alertMarks, alerts, alertTimeline } from './alerts/alerts'
import { incident } from './alerts/incident'
import { canaryProposal, changePlan, planBundle, settingDrift } from './changePlan'
import { capacity, capacityForecast, capacityPlan, reports } from './capacity'
import { counter, counterNames } from './fleet/counters'
import { curve } from './curve'
import { events } from './events'
import { experiment, experimentPlan, experiments } from './experiments'
import { fleet, fleetDrift, fleetGrid, reclaimable } from './fleet/fleet'
import { fleetStatistics } from './fleet/fleetStatistics'
import { serviceHeat } from './heat/heat'
import { hostCounts, hostDetail, hosts, hostText, noneAway } from './fleet/hosts'
import { account, audit, loginMethods, ownTokens, session, teams, tokens, users, views } from './identity'
import { knobAdvice } from './knobs'
import { notifications, routing, silences } from './alerts/notifications'
import { agentVersions, dataQuality, hostLabels, labelUpload, pauses, purge } from './operations'
import { hostFairness, hostLimits, serviceFairness } from './ledger/fairness'
import { pingPongHistory } from './ledger/pingPong'
import { ratio, slowdownPoints } from './ratio'
import { objectives, revisit } from './heat/revisit'
import { backtest, ruleCheck, rules, vocabulary } from './alerts/rules'
import { sensitivity, stability } from './sensitivity'
import { serviceMetrics } from './fleet/serviceMetrics'
import { comparedNetwork } from './fleet/network'
import { serviceDetail, services } from './fleet/services'
import { hostPods, servicePods } from './fleet/pods'
import { simulatorPolicies, simulatorSources, swapDevices } from './simulate/simulator'
import { sweep, sweepHeat, sweepResults, sweepRun, sweeps } from './simulate/sweeps'
import { catalogue, status } from './status'
import { ledger } from './ledger/tierMoves'
import { prices, scenario, scenarioDefaults, scenarioItems, scenarioPresets, tcoAnswer } from './tco'
import { swapTier } from './swapTier'
import { tilesBody } from './heat/tiles'

function json(body: unknown, code = 200): Response {
  const type = code < 400 ? 'application/json' : 'application/problem+json'
  return new Response(JSON.stringify(body), { status: code, headers: { 'Content-Type': type } })
}

function notFound(what: string): Response {
  return json(
    {
      type: 'https://tierscope.dev/problems/not-found',
      title: 'Not found',
      status: 404,
      detail: `There is no ${what}.`,
      next_step: 'Check the link, or search with Ctrl K.',
      instance: null,
    },
    404,
  )
}

type Handler = (id: string, query: URLSearchParams) => Response

const routes: [RegExp, Handler][] = [
  [/^\/v1\/fleet$/, () => json(fleet())],
  [
    /^\/v1\/fleet\/grid$/,
    (_, query) => {
      const at = query.get('at')
      return json(at === null ? fleetGrid() : { ...fleetGrid(), at, is_now: false })
    },
  ],
  [/^\/v1\/fleet\/drift$/, () => json(fleetDrift())],
  [/^\/v1\/tco\/reclaimable$/, () => json(reclaimable())],
  [/^\/v1\/fleet\/statistics$/, () => json(fleetStatistics())],
  [/^\/v1\/events$/, () => json({ items: events, next_cursor: null })],
  [
    /^\/v1\/advice$/,
    (_, query) => {
      const wanted = query.get('status')
      return json({ items: advice.filter(({ status }) => wanted === null || status === wanted), next_cursor: null })
    },
  ],
  [/^\/v1\/advice\/plan$/, () => json(changePlan)],
  [/^\/v1\/advice\/plan\/bundle$/, (_, query) => json(planBundle(query.getAll('change')))],
  [
    /^\/v1\/advice\/plan\/canaries$/,
    (_, query) =>
      json(
        canaryProposal(
          query.get('change') ?? '',
          Number(query.get('canary_n') ?? 1),
          query.get('service') ?? undefined,
        ),
      ),
  ],
  [/^\/v1\/advice\/drift$/, () => json(settingDrift)],
  [/^\/v1\/experiments$/, () => json({ items: experiments, next_cursor: null })],
  [
    /^\/v1\/experiments\/plan$/,
    (_, query) => json(experimentPlan(query.get('service') ?? '', Number(query.get('effect_ratio') ?? 0.01))),
  ],
  [
    /^\/v1\/experiments\/([^/]+)$/,
    (id) => (experiment(id) === undefined ? notFound(`experiment ${id}`) : json(experiment(id))),
  ],
  [
    /^\/v1\/alerts$/,
    (_, query) => {
      const state = query.get('state')
      const shown = alerts.filter((found) => (state === 'open' ? found.state !== 'resolved' : found.state === state))
      return json({ items: shown, next_cursor: null })
    },
  ],
  [/^\/v1\/alerts\/timeline$/, () => json(alertTimeline())],
  [/^\/v1\/alerts\/marks$/, () => json(alertMarks)],
  [
    /^\/v1\/alerts\/([^/]+)$/,
    (id) => (alertDetail(id) === undefined ? notFound(`alert ${id}`) : json(alertDetail(id))),
  ],
  [
    /^\/v1\/alerts\/([^/]+)\/incident$/,
    (id) => (incident(id) === undefined ? notFound(`alert ${id}`) : json(incident(id))),
  ],
  [/^\/v1\/rules$/, () => json({ items: rules })],
  [/^\/v1\/rules\/vocabulary$/, () => json(vocabulary)],
  [/^\/v1\/rules\/check$/, () => json(ruleCheck('a < b'))],
  [/^\/v1\/rules\/backtest$/, () => json(backtest())],
  [/^\/v1\/rules\/([^/]+)$/, (id) => json(rules.find((found) => found.id === id) ?? null)],
  [/^\/v1\/silences$/, () => json({ items: silences, next_cursor: null })],
  [/^\/v1\/alert-routes$/, () => json(routing)],
  [/^\/v1\/notifications$/, () => json({ items: notifications, next_cursor: null })],
  [/^\/v1\/simulator\/policies$/, () => json(simulatorPolicies)],
  [/^\/v1\/simulator\/sources$/, () => json(simulatorSources)],
  [/^\/v1\/simulator\/swap-devices$/, (_, query) => json(swapDevices(query.get('load') ?? 'mixed'))],
  [/^\/v1\/sweeps$/, () => json({ items: sweeps, next_cursor: null })],
  [/^\/v1\/sweeps\/([^/]+)$/, (id) => (sweep(id) === undefined ? notFound(`sweep ${id}`) : json(sweep(id)))],
  [/^\/v1\/sweeps\/([^/]+)\/results$/, (id) => json(sweepResults(id))],
  [/^\/v1\/sweeps\/[^/]+\/runs\/([^/]+)$/, (id) => json(sweepRun(id))],
  [/^\/v1\/sweeps\/([^/]+)\/heat$/, () => json(sweepHeat())],
  [/^\/v1\/capacity$/, (_, query) => json(capacity(query.get('group_by') ?? 'service'))],
  [/^\/v1\/reports$/, () => json(reports)],
  [/^\/v1\/reports\/preview$/, () => new Response('<p>All is well.</p>', { headers: { 'Content-Type': 'text/html' } })],
  [/^\/v1\/capacity\/plan$/, () => json(capacityPlan())],
  [/^\/v1\/capacity\/forecast$/, (_, query) => json(capacityForecast(query.get('id') ?? ''))],
  [/^\/v1\/prices$/, () => json({ items: prices, next_cursor: null })],
  [/^\/v1\/scenarios$/, () => json({ items: scenarioItems, next_cursor: null })],
  [/^\/v1\/scenarios\/presets$/, (_, query) => json(scenarioPresets(query.get('service')))],
  [/^\/v1\/scenarios\/defaults$/, () => json(scenarioDefaults())],
  [/^\/v1\/scenarios\/([^/]+)$/, (id) => json({ ...scenarioItems[0], id, spec: scenario, yaml: '' })],
  [/^\/v1\/tco\/evaluate$/, () => json(tcoAnswer(false))],
  [
    /^\/v1\/tco\/compare$/,
    (_, query) =>
      json({
        currency: 'USD',
        scenarios: query.getAll('scenario').map((id) => ({ id, version: 1, answer: { ...tcoAnswer(true), name: id } })),
        differences: [{ path: 'options[0].cxl.gb', values: ['256', null] }],
      }),
  ],
  [/^\/v1\/session$/, () => json(session)],
  [/^\/v1\/login\/methods$/, () => json(loginMethods)],
  [/^\/v1\/me$/, () => json(account)],
  [/^\/v1\/me\/tokens$/, () => json(ownTokens)],
  [/^\/v1\/views$/, () => json({ items: views, next_cursor: null })],
  [/^\/v1\/users$/, () => json(users)],
  [/^\/v1\/teams$/, () => json(teams)],
  [/^\/v1\/tokens$/, () => json(tokens)],
  [/^\/v1\/audit$/, () => json({ items: audit, next_cursor: null })],
  [/^\/v1\/agents\/versions$/, (_, query) => json(agentVersions(query.get('outdated') === 'true'))],
  [/^\/v1\/agents\/pauses$/, () => json(pauses)],
  [/^\/v1\/data-quality$/, () => json(dataQuality())],
  [/^\/v1\/purges$/, () => json({ items: [purge('done')], next_cursor: null })],
  [/^\/v1\/purges\/([^/]+)$/, () => json(purge('done'))],
  [/^\/v1\/hosts\/labels$/, (_, query) => json(labelUpload(query.get('dry_run') === 'true'))],
  [/^\/v1\/hosts\/([^/]+)\/labels$/, (id) => json(hostLabels(id))],
  [/^\/v1\/hosts\/([^/]+)\/purge$/, () => json(purge('waiting'), 202)],
  [/^\/v1\/status$/, () => json(status())],
  [/^\/v1\/metrics$/, () => json(catalogue())],
  [
    /^\/v1\/hosts$/,
    (_, query) => {
      const since = query.get('enrolled_since') ?? ''
      const words = (query.get('q') ?? '').toLowerCase().split(/\s+/)
      const [state, service, cause] = ['state', 'service', 'cause'].map((name) => query.get(name))
      const ids = query.getAll('host')
      const found = hosts.filter(
        (host) =>
          host.enrolled_at >= since &&
          words.every((word) => hostText(host).includes(word)) &&
          (state === null || host.state === state) &&
          (service === null || service === undefined || host.services.includes(service)) &&
          (cause === null || causesOf(host).some((own) => writeCause(own) === cause)) &&
          (ids.length === 0 || ids.includes(host.id)),
      )
      const limit = Number(query.get('limit') ?? 100)
      const start = Number(query.get('cursor') ?? 0)
      return json({
        items: found.slice(start, start + limit),
        next_cursor: start + limit < found.length ? String(start + limit) : null,
        fleet: hostCounts,
        matching: found.length,
        away: noneAway,
      })
    },
  ],
  [/^\/v1\/hosts\/([^/]+)$/, (id) => json(hostDetail(id) ?? null, hostDetail(id) === undefined ? 404 : 200)],
  [/^\/v1\/hosts\/([^/]+)\/pods$/, (id) => json({ items: hostPods(id), next_cursor: null })],
  [/^\/v1\/services\/([^/]+)\/pods$/, (id) => json({ items: servicePods(id), next_cursor: null })],
  [/^\/v1\/hosts\/([^/]+)\/counters\/names$/, (id) => json(counterNames(id))],
  [/^\/v1\/hosts\/([^/]+)\/counters$/, (id, query) => json(counter(id, query.get('name') ?? ''))],
  [/^\/v1\/(?:hosts|services)\/([^/]+)\/ledger$/, (id) => json(ledger(id))],
  [/^\/v1\/(?:hosts|services)\/([^/]+)\/ping-pong$/, (id) => json(pingPongHistory(id))],
  [/^\/v1\/hosts\/([^/]+)\/fairness$/, (id) => json(hostFairness(id))],
  [/^\/v1\/services\/([^/]+)\/swap-tier$/, (id, query) => json(swapTier(id, Number(query.get('loss_target') ?? 0.01)))],
  [/^\/v1\/services\/([^/]+)\/fairness$/, (id) => json(serviceFairness(id))],
  [/^\/v1\/hosts\/([^/]+)\/fairness\/limits$/, (id) => json(hostLimits(id))],
  [/^\/v1\/hosts\/([^/]+)\/knob-advice$/, (id) => json(knobAdvice(id))],
  [/^\/v1\/services\/([^/]+)\/curve$/, (id) => json(curve(id))],
  [/^\/v1\/services\/([^/]+)\/ratio$/, (id, query) => json(ratio(id, Number(query.get('loss_target') ?? 0.05)))],
  [/^\/v1\/services\/([^/]+)\/slowdown-points$/, (id) => json(slowdownPoints(id))],
  [/^\/v1\/services\/([^/]+)\/sensitivity$/, (id) => json(sensitivity(id))],
  [/^\/v1\/services\/([^/]+)\/stability$/, (id) => json(stability(id))],
  [/^\/v1\/services\/([^/]+)\/network$/, (id, query) => json(comparedNetwork(id, query.get('other') ?? id))],
  [/^\/v1\/services\/([^/]+)\/revisit\/objectives$/, (id) => json(objectives(id))],
  [/^\/v1\/services$/, () => json({ items: services, next_cursor: null })],
  [
    /^\/v1\/services\/([^/]+)$/,
    (id) => (serviceDetail(id) === undefined ? notFound(`service ${id}`) : json(serviceDetail(id))),
  ],
  [
    /^\/v1\/services\/([^/]+)\/revisit$/,
    (id, query) => json(revisit(id, query.get('clock') === 'turned_cold' ? 'turned_cold' : 'last_access')),
  ],
  [/^\/v1\/services\/([^/]+)\/metrics$/, (id) => json(serviceMetrics(id))],
  [
    /^\/v1\/services\/([^/]+)\/heat$/,
    (id, query) => {
      const scheme = query.get('scheme')
      return json(serviceHeat(id, scheme === 'frequency' || scheme === 'cold_age' ? scheme : 'recency'))
    },
  ],
  [
    /^\/v1\/services\/([^/]+)\/tiles$/,
    (id) => new Response(tilesBody(id), { headers: { 'Content-Type': 'application/octet-stream' } }),
  ],
]

/** The mock API: the answer to a GET of this URL, in the shapes of the contract. */
export function answer(url: string): Response {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  for (const [pattern, handle] of routes) {
    const match = pattern.exec(pathname)
    if (match !== null) return handle(match[1] ?? '', searchParams)
  }
  return notFound(pathname)
}
