import type {
  AlertRouteInput,
  AlertRouting,
  AlertRoutesRequest,
  Inhibition,
  ReceiverRequest,
} from '../../../api/_generated/schema'
import { matchersText, readMatchers } from '../../../lib/alerts'

export type ReceiverKind = ReceiverRequest['kind']
export const receiverKinds: ReceiverKind[] = ['webhook', 'mail', 'slack', 'pagerduty', 'alertmanager', 'apprise']

/** The text settings of each kind, what must be there first. `…_file` names a file in the directory of secrets. */
export const receiverFields: Record<ReceiverKind, string[]> = {
  webhook: ['url', 'token'],
  mail: ['to'],
  slack: ['url', 'channel'],
  pagerduty: ['routing_key', 'url'],
  alertmanager: ['url', 'user', 'password', 'token'],
  apprise: ['url'],
}

/** What the editor holds: texts, so that half-written rows stay as they are. */
export interface ReceiverEntry {
  name: string
  kind: ReceiverKind
  settings: Record<string, string>
  sendResolved: boolean
  /** Settings that the editor does not show; they stay as they are. */
  rest: ReceiverRequest['settings']
}

export interface RouteEntry {
  matchers: string
  receiver: string
  groupBy: string
  waitSeconds: number | string
  repeatHours: number | string
  goOn: boolean
  /** Settings and inner routes that the editor does not show; they stay as they are. */
  rest: AlertRouteInput | null
}

export interface RoutesEntry {
  receivers: ReceiverEntry[]
  routes: RouteEntry[]
  inhibitions: Inhibition[]
  version: number
}

/** A receiver without settings. */
export function blankReceiver(): ReceiverEntry {
  return { name: '', kind: 'webhook', settings: {}, sendResolved: true, rest: {} }
}

/** A route for every alert. */
export function blankRoute(receiver: string): RouteEntry {
  return { matchers: '', receiver, groupBy: '', waitSeconds: '', repeatHours: '', goOn: false, rest: null }
}

/** The configuration in the editor. */
export function entryOfRouting(routing: AlertRouting): RoutesEntry {
  return {
    receivers: routing.receivers.map(({ name, kind, settings }) => {
      const { to, send_resolved: sendResolved, ...rest } = settings
      const texts = Object.entries(rest).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
      return {
        name,
        kind,
        settings: { ...Object.fromEntries(texts), ...(to == null ? {} : { to: to.join(', ') }) },
        sendResolved: sendResolved !== false,
        rest: settings.resend_seconds == null ? {} : { resend_seconds: settings.resend_seconds },
      }
    }),
    routes: routing.routes.map((route) => ({
      matchers: matchersText(route.matchers ?? []),
      receiver: route.receiver ?? '',
      groupBy: (route.group_by ?? []).join(', '),
      waitSeconds: route.group_wait_seconds ?? '',
      repeatHours: route.repeat_interval_seconds == null ? '' : route.repeat_interval_seconds / 3600,
      goOn: route.continue === true,
      rest: route,
    })),
    inhibitions: routing.inhibitions,
    version: routing.version,
  }
}

function list(typed: string): string[] {
  return typed
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function settingsOf(receiver: ReceiverEntry): ReceiverRequest['settings'] {
  const allowed = receiverFields[receiver.kind].flatMap((name) => [name, `${name}_file`])
  const texts = Object.entries(receiver.settings)
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([name, value]) => value !== '' && allowed.includes(name) && name !== 'to')
  const to = receiver.kind === 'mail' ? list(receiver.settings['to'] ?? '') : []
  return {
    ...(receiver.kind === 'alertmanager' ? receiver.rest : {}),
    ...Object.fromEntries(texts),
    ...(to.length === 0 ? {} : { to }),
    ...(receiver.sendResolved || receiver.kind === 'alertmanager' ? {} : { send_resolved: false }),
  }
}

function routeOf(entry: RouteEntry): AlertRouteInput | string {
  const matchers = readMatchers(entry.matchers)
  if (typeof matchers === 'string') return matchers
  const groupBy = list(entry.groupBy)
  return {
    ...entry.rest,
    matchers,
    receiver: entry.receiver === '' ? null : entry.receiver,
    group_by: groupBy.length === 0 ? null : groupBy,
    group_wait_seconds: entry.waitSeconds === '' ? null : Number(entry.waitSeconds),
    repeat_interval_seconds: entry.repeatHours === '' ? null : Number(entry.repeatHours) * 3600,
    continue: entry.goOn,
    routes: entry.rest?.routes ?? [],
  }
}

/** The request of the editor; a text says what cannot be read. The service judges all else. */
export function requestOfRoutes(entry: RoutesEntry): AlertRoutesRequest | string {
  const routes: AlertRouteInput[] = []
  for (const route of entry.routes) {
    const read = routeOf(route)
    if (typeof read === 'string') return read
    routes.push(read)
  }
  if (entry.receivers.some(({ name }) => name.trim() === '')) return 'Give each receiver a name.'
  return {
    receivers: entry.receivers.map((receiver) => ({
      name: receiver.name.trim(),
      kind: receiver.kind,
      settings: settingsOf(receiver),
    })),
    routes,
    inhibitions: entry.inhibitions,
    version: entry.version,
  }
}
