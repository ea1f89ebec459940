import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { rulesQuery } from '../../../api/queries/alerts/rules'
import { hostsQuery } from '../../../api/queries/fleet/hosts'
import { servicesQuery } from '../../../api/queries/fleet/services'
import { useSession } from '../access/useSession'
import { openDestinations } from './navigation'
import { keepRecent, readRecent, type RecentHit } from './recentHits'

/** Something that the search opens or does. */
export interface Hit {
  key: string
  kind: 'recent' | 'action' | 'page' | 'service' | 'host' | 'rule'
  label: string
  detail: string
  open: () => void
}

const mostHits = 12

/** What fits a query, at most twelve; without one what was opened before, what can be done, and the pages. */
export function useHits(query: string, enabled: boolean, onTheme: () => void): Hit[] {
  const navigate = useNavigate()
  const { may } = useSession()
  const services = useQuery({ ...servicesQuery(null), enabled })
  const hosts = useQuery({ ...hostsQuery(null), enabled })
  const rules = useQuery({ ...rulesQuery(null), enabled })
  if (!enabled) return []
  const openers = {
    service: (serviceId: string) => void navigate({ to: '/services/$serviceId', params: { serviceId } }),
    host: (hostId: string) => void navigate({ to: '/hosts/$hostId', params: { hostId } }),
    rule: (ruleId: string) => void navigate({ to: '/alerts/rules/$ruleId', params: { ruleId } }),
  }
  const found = (hit: RecentHit): Hit => ({
    key: `${hit.kind}-${hit.id}`,
    kind: hit.kind,
    label: hit.label,
    detail: hit.detail,
    open: () => {
      keepRecent(hit)
      openers[hit.kind](hit.id)
    },
  })
  const action = (label: string, open: () => void): Hit => ({ key: label, kind: 'action', label, detail: '', open })
  const actions = [
    action('Add hosts', () => void navigate({ to: '/add-hosts' })),
    action('New rule', () => void navigate({ to: '/alerts/rules/new' })),
    action('New experiment', () => void navigate({ to: '/experiments/new' })),
    action('Compute TCO', () => void navigate({ to: '/tco' })),
    action('Toggle theme', onTheme),
  ]
  const pages = openDestinations(may).map(({ to, label }): Hit => ({
    key: to,
    kind: 'page',
    label,
    detail: '',
    open: () => void navigate({ to }),
  }))
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) {
    const recent = readRecent().map((hit): Hit => ({ ...found(hit), kind: 'recent', detail: hit.kind }))
    return [...recent, ...actions, ...pages]
  }
  const all: Hit[] = [
    ...actions,
    ...pages,
    ...(services.data?.items ?? []).map(({ id, name, namespace }) =>
      found({ kind: 'service', id, label: name, detail: namespace }),
    ),
    ...(hosts.data?.items ?? []).map(({ id, name, state }) => found({ kind: 'host', id, label: name, detail: state })),
    ...(rules.data?.items ?? []).map(({ id, name, severity }) =>
      found({ kind: 'rule', id, label: name, detail: severity }),
    ),
  ]
  return all
    .filter((hit) => words.every((word) => `${hit.kind} ${hit.detail} ${hit.label}`.toLowerCase().includes(word)))
    .slice(0, mostHits)
}
