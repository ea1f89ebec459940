import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
  type RouterHistory,
} from '@tanstack/react-router'
import { readAdviceSearch } from './lib/url/adviceUrl'
import { readAdminSearch, readLoginSearch } from './lib/url/identityUrl'
import {
  readAgentsSearch,
  readFleetSearch,
  readHostSearch,
  readHostsSearch,
  readListSearch,
  readNewExperimentSearch,
  readQualitySearch,
  readServiceSearch,
  readTimeSearch,
} from './lib/url/urlState'
import { readAddHostsSearch } from './lib/url/addHostsUrl'
import { readExploreSearch } from './lib/url/exploreUrl'
import { readAlertsSearch, readRuleSearch } from './lib/url/alertsUrl'
import { readSimulatorSearch, readSweepSearch } from './lib/url/simulatorUrl'
import { readCapacitySearch } from './lib/url/capacityUrl'
import { readTcoSearch } from './lib/url/tcoUrl'
import { narrowBy } from './api/narrowing'
import { rangeOf } from './api/queries/base/range'
import { readTags } from './lib/url/tagsUrl'
import { askForFleet, askForHost, askForService } from './pages/askAhead'
import { FleetPage } from './pages/fleet/FleetPage'
import { NotFound } from './pages/shell/NotFound'
import { Shell } from './pages/shell/Shell'

/** Of pages that tell of now, whatever time range is chosen. */
const ofNow = { ofNow: true }
const whole = { narrows: '' }

// Pages other than the first one are loaded when they are opened: each brings its charts and forms.
const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: readTimeSearch,
  // One time range and one narrowing for the whole app: links need not name them.
  search: { middlewares: [retainSearchParams(['from', 'to', 'live', 'marks', 'kiosk', 'tags'])] },
  beforeLoad: ({ search }) => narrowBy(readTags(search.tags)),
})

const fleetRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: {
    narrows: 'Reclaimable DRAM, moves and pressure over time, outliers, change points and peers tell of all hosts.',
  },
  path: '/',
  component: FleetPage,
  validateSearch: readFleetSearch,
  loaderDeps: ({ search }) => ({ range: rangeOf(search), at: search.at, group: search.group }),
  loader: ({ context: { queryClient }, deps }) => askForFleet(queryClient, deps.range, deps.at, deps.group),
})
const servicesRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: { ...ofNow, ...whole },
  path: '/services',
  component: lazyRouteComponent(() => import('./pages/services/ServicesPage'), 'ServicesPage'),
  validateSearch: readListSearch,
})
const serviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/services/$serviceId',
  component: lazyRouteComponent(() => import('./pages/services/ServicePage'), 'ServicePage'),
  validateSearch: readServiceSearch,
  loaderDeps: ({ search }) => ({
    range: rangeOf(search),
    tab: search.tab,
    scheme: search.scheme,
    threshold: search.threshold,
  }),
  loader: ({ context: { queryClient }, params, deps }) =>
    askForService(queryClient, params.serviceId, deps.range, deps),
})
const hostsRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: { ...ofNow, ...whole },
  path: '/hosts',
  component: lazyRouteComponent(() => import('./pages/hosts/HostsPage'), 'HostsPage'),
  validateSearch: readHostsSearch,
})
const hostRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/hosts/$hostId',
  component: lazyRouteComponent(() => import('./pages/hosts/HostPage'), 'HostPage'),
  validateSearch: readHostSearch,
  loaderDeps: ({ search }) => ({ range: rangeOf(search), tab: search.tab }),
  loader: ({ context: { queryClient }, params, deps }) => askForHost(queryClient, params.hostId, deps.range, deps.tab),
})
const adviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: { narrows: 'The change plan and drift tell of all hosts.' },
  path: '/advice',
  component: lazyRouteComponent(() => import('./pages/advice/AdvicePage'), 'AdvicePage'),
  validateSearch: readAdviceSearch,
})
const experimentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/experiments',
  component: lazyRouteComponent(() => import('./pages/experiments/ExperimentsPage'), 'ExperimentsPage'),
  validateSearch: readListSearch,
})
const newExperimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/experiments/new',
  component: lazyRouteComponent(() => import('./pages/experiments/NewExperimentPage'), 'NewExperimentPage'),
  validateSearch: readNewExperimentSearch,
})
const experimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/experiments/$experimentId',
  component: lazyRouteComponent(() => import('./pages/experiments/ExperimentPage'), 'ExperimentPage'),
})
const simulatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/simulator',
  component: lazyRouteComponent(() => import('./pages/simulator/SimulatorPage'), 'SimulatorPage'),
  validateSearch: readSimulatorSearch,
})
const sweepRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/simulator/$sweepId',
  component: lazyRouteComponent(() => import('./pages/simulator/SweepPage'), 'SweepPage'),
  validateSearch: readSweepSearch,
})
const capacityRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: { ...ofNow, narrows: 'Groups of hosts, the plan and reports tell of all hosts.' },
  path: '/capacity',
  component: lazyRouteComponent(() => import('./pages/capacity/CapacityPage'), 'CapacityPage'),
  validateSearch: readCapacitySearch,
})
const tcoRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/tco',
  component: lazyRouteComponent(() => import('./pages/tco/TcoPage'), 'TcoPage'),
  validateSearch: readTcoSearch,
})
const tcoScenarioRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/tco/$scenarioId',
  component: lazyRouteComponent(() => import('./pages/tco/TcoPage'), 'TcoPage'),
  validateSearch: readTcoSearch,
})
const alertsRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: { narrows: 'Rules, silences and routes hold for all hosts.' },
  path: '/alerts',
  component: lazyRouteComponent(() => import('./pages/alerts/AlertsPage'), 'AlertsPage'),
  validateSearch: readAlertsSearch,
})
const alertRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts/$alertId',
  component: lazyRouteComponent(() => import('./pages/alerts/AlertPage'), 'AlertPage'),
})
const newRuleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts/rules/new',
  component: lazyRouteComponent(() => import('./pages/alerts/rules/NewRulePage'), 'NewRulePage'),
  validateSearch: readRuleSearch,
})
const ruleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts/rules/$ruleId',
  component: lazyRouteComponent(() => import('./pages/alerts/rules/RulePage'), 'RulePage'),
  validateSearch: readRuleSearch,
})
const agentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/agents',
  component: lazyRouteComponent(() => import('./pages/agents/AgentsPage'), 'AgentsPage'),
  validateSearch: readAgentsSearch,
})
const addHostsRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/add-hosts',
  component: lazyRouteComponent(() => import('./pages/addHosts/AddHostsPage'), 'AddHostsPage'),
  validateSearch: readAddHostsSearch,
})
const exploreRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/explore',
  component: lazyRouteComponent(() => import('./pages/explore/ExplorePage'), 'ExplorePage'),
  validateSearch: readExploreSearch,
})
const dataQualityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/data-quality',
  component: lazyRouteComponent(() => import('./pages/dataQuality/DataQualityPage'), 'DataQualityPage'),
  validateSearch: readQualitySearch,
})
const adminRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/admin',
  component: lazyRouteComponent(() => import('./pages/admin/AdminPage'), 'AdminPage'),
  validateSearch: readAdminSearch,
})
const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  component: lazyRouteComponent(() => import('./pages/login/LoginPage'), 'LoginPage'),
  validateSearch: readLoginSearch,
})
const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/AccountPage'), 'AccountPage'),
})
const statusRoute = createRoute({
  getParentRoute: () => rootRoute,
  staticData: ofNow,
  path: '/status',
  component: lazyRouteComponent(() => import('./pages/status/StatusPage'), 'StatusPage'),
})

const routeTree = rootRoute.addChildren([
  fleetRoute,
  servicesRoute,
  serviceRoute,
  hostsRoute,
  hostRoute,
  adviceRoute,
  experimentsRoute,
  newExperimentRoute,
  experimentRoute,
  simulatorRoute,
  sweepRoute,
  capacityRoute,
  tcoRoute,
  tcoScenarioRoute,
  alertsRoute,
  alertRoute,
  newRuleRoute,
  ruleRoute,
  agentsRoute,
  addHostsRoute,
  exploreRoute,
  dataQualityRoute,
  adminRoute,
  loginRoute,
  accountRoute,
  statusRoute,
])

/** The routes; the URL holds all view state (lib/urlState.ts). Specs give a history of their own. */
export function createAppRouter(queryClient: QueryClient, history?: RouterHistory) {
  return createRouter({
    routeTree,
    context: { queryClient },
    scrollRestoration: true,
    defaultPreload: false,
    ...(history && { history }),
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
  interface StaticDataRouteOption {
    ofNow?: boolean
    /** What of the page tags do not narrow, in a sentence; empty: nothing. Without it tags do not narrow the page. */
    narrows?: string
  }
}
