import {
  createRootRoute,
  createRoute,
  createRouter,
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
import { readAlertsSearch, readRuleSearch } from './lib/url/alertsUrl'
import { readSimulatorSearch, readSweepSearch } from './lib/url/simulatorUrl'
import { readCapacitySearch } from './lib/url/capacityUrl'
import { readTcoSearch } from './lib/url/tcoUrl'
import { AccountPage } from './pages/account/AccountPage'
import { AddHostsPage } from './pages/addHosts/AddHostsPage'
import { AdminPage } from './pages/admin/AdminPage'
import { AgentsPage } from './pages/agents/AgentsPage'
import { AlertPage } from './pages/alerts/AlertPage'
import { AlertsPage } from './pages/alerts/AlertsPage'
import { NewRulePage } from './pages/alerts/rules/NewRulePage'
import { RulePage } from './pages/alerts/rules/RulePage'
import { AdvicePage } from './pages/advice/AdvicePage'
import { CapacityPage } from './pages/capacity/CapacityPage'
import { DataQualityPage } from './pages/dataQuality/DataQualityPage'
import { ExperimentPage } from './pages/experiments/ExperimentPage'
import { ExperimentsPage } from './pages/experiments/ExperimentsPage'
import { NewExperimentPage } from './pages/experiments/NewExperimentPage'
import { FleetPage } from './pages/fleet/FleetPage'
import { HostPage } from './pages/hosts/HostPage'
import { HostsPage } from './pages/hosts/HostsPage'
import { LoginPage } from './pages/login/LoginPage'
import { ServicePage } from './pages/services/ServicePage'
import { ServicesPage } from './pages/services/ServicesPage'
import { NotFound } from './pages/shell/NotFound'
import { Shell } from './pages/shell/Shell'
import { SimulatorPage } from './pages/simulator/SimulatorPage'
import { SweepPage } from './pages/simulator/SweepPage'
import { StatusPage } from './pages/status/StatusPage'
import { TcoPage } from './pages/tco/TcoPage'

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: readTimeSearch,
  // One time range for the whole app: links need not name it.
  search: { middlewares: [retainSearchParams(['from', 'to', 'live', 'marks'])] },
})

const fleetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: FleetPage,
  validateSearch: readFleetSearch,
})
const servicesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/services',
  component: ServicesPage,
  validateSearch: readListSearch,
})
const serviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/services/$serviceId',
  component: ServicePage,
  validateSearch: readServiceSearch,
})
const hostsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/hosts',
  component: HostsPage,
  validateSearch: readHostsSearch,
})
const hostRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/hosts/$hostId',
  component: HostPage,
  validateSearch: readHostSearch,
})
const adviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/advice',
  component: AdvicePage,
  validateSearch: readAdviceSearch,
})
const experimentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/experiments',
  component: ExperimentsPage,
  validateSearch: readListSearch,
})
const newExperimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/experiments/new',
  component: NewExperimentPage,
  validateSearch: readNewExperimentSearch,
})
const experimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/experiments/$experimentId',
  component: ExperimentPage,
})
const simulatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/simulator',
  component: SimulatorPage,
  validateSearch: readSimulatorSearch,
})
const sweepRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/simulator/$sweepId',
  component: SweepPage,
  validateSearch: readSweepSearch,
})
const capacityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/capacity',
  component: CapacityPage,
  validateSearch: readCapacitySearch,
})
const tcoRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tco',
  component: TcoPage,
  validateSearch: readTcoSearch,
})
const tcoScenarioRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tco/$scenarioId',
  component: TcoPage,
  validateSearch: readTcoSearch,
})
const alertsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts',
  component: AlertsPage,
  validateSearch: readAlertsSearch,
})
const alertRoute = createRoute({ getParentRoute: () => rootRoute, path: '/alerts/$alertId', component: AlertPage })
const newRuleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts/rules/new',
  component: NewRulePage,
  validateSearch: readRuleSearch,
})
const ruleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts/rules/$ruleId',
  component: RulePage,
  validateSearch: readRuleSearch,
})
const agentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/agents',
  component: AgentsPage,
  validateSearch: readAgentsSearch,
})
const addHostsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/add-hosts',
  component: AddHostsPage,
  validateSearch: readAddHostsSearch,
})
const dataQualityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/data-quality',
  component: DataQualityPage,
  validateSearch: readQualitySearch,
})
const adminRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/admin',
  component: AdminPage,
  validateSearch: readAdminSearch,
})
const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  component: LoginPage,
  validateSearch: readLoginSearch,
})
const accountRoute = createRoute({ getParentRoute: () => rootRoute, path: '/account', component: AccountPage })
const statusRoute = createRoute({ getParentRoute: () => rootRoute, path: '/status', component: StatusPage })

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
  dataQualityRoute,
  adminRoute,
  loginRoute,
  accountRoute,
  statusRoute,
])

/** The routes; the URL holds all view state (lib/urlState.ts). Specs give a history of their own. */
export function createAppRouter(history?: RouterHistory) {
  return createRouter({ routeTree, scrollRestoration: true, defaultPreload: false, ...(history && { history }) })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}
