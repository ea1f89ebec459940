import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { viewsQuery } from '../../../api/queries/access/views'
import { rulesQuery } from '../../../api/queries/alerts/rules'
import { hostSearchQuery } from '../../../api/queries/fleet/hosts'
import { servicesQuery } from '../../../api/queries/fleet/services'
import { useSession } from '../access/useSession'
import { openDestinations } from './navigation'
import { keepRecent, readRecent, type RecentHit } from './recentHits'

/** Something that the search opens or does. */
export interface Hit {
  key: string
  kind: 'recent' | 'action' | 'page' | 'view' | 'service' | 'host' | 'rule'
  label: string
  detail: string
  open: () => void
}

const mostHits = 12

/** What the search does beyond opening pages. */
export interface PaletteActions {
  onTheme: () => void
  onViews: () => void
  onKiosk: () => void
}

/** What fits a query, at most twelve; without one what was opened before, saved views, what can be done, and the pages. */
export function useHits(query: string, enabled: boolean, { onTheme, onViews, onKiosk }: PaletteActions): Hit[] {
  const navigate = useNavigate()
  const { history } = useRouter()
  const { may } = useSession()
  const services = useQuery({ ...servicesQuery(null), enabled })
  const rules = useQuery({ ...rulesQuery(null), enabled })
  const saved = useQuery({ ...viewsQuery(), enabled })
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  // The fleet may have more hosts than a page holds: the server looks among them.
  const hosts = useQuery({ ...hostSearchQuery(words.join(' '), mostHits), enabled: enabled && words.length > 0 })
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
    action('Save this view', onViews),
    action('Kiosk', onKiosk),
    action('Toggle theme', onTheme),
  ]
  const pages = openDestinations(may).map(({ to, label }): Hit => ({
    key: to,
    kind: 'page',
    label,
    detail: '',
    open: () => void navigate({ to }),
  }))
  const views = (saved.data?.items ?? []).map(({ id, name, address, shared }): Hit => ({
    key: `view-${id}`,
    kind: 'view',
    label: name,
    detail: shared ? 'shared' : '',
    open: () => history.push(address),
  }))
  if (words.length === 0) {
    const recent = readRecent().map((hit): Hit => ({ ...found(hit), kind: 'recent', detail: hit.kind }))
    return [...recent, ...views.slice(0, mostHits), ...actions, ...pages]
  }
  const all: Hit[] = [
    ...actions,
    ...pages,
    ...views,
    ...(services.data?.items ?? []).map(({ id, name, namespace }) =>
      found({ kind: 'service', id, label: name, detail: namespace }),
    ),
    ...(rules.data?.items ?? []).map(({ id, name, severity }) =>
      found({ kind: 'rule', id, label: name, detail: severity }),
    ),
  ]
  const fitting = all.filter((hit) =>
    words.every((word) => `${hit.kind} ${hit.detail} ${hit.label}`.toLowerCase().includes(word)),
  )
  const foundHosts = (hosts.isPlaceholderData ? [] : (hosts.data?.items ?? [])).map(({ id, name, state }) =>
    found({ kind: 'host', id, label: name, detail: state }),
  )
  return [...fitting, ...foundHosts].slice(0, mostHits)
}
