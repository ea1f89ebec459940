import {
  IconApps,
  IconBell,
  IconBulb,
  IconBroadcast,
  IconChartAreaLine,
  IconChartLine,
  IconCoins,
  IconClipboardCheck,
  IconFlask,
  IconHeartbeat,
  IconPlayerTrackNext,
  IconServer2,
  IconTopologyStar3,
  IconUsersGroup,
} from '@tabler/icons-react'
import type { PermissionName } from '../../../lib/access/permissions'

/** The pages that exist, in the order of the navigation, with the second key of their `g …` shortcut. */
export const destinations = [
  { to: '/', label: 'Fleet', icon: IconTopologyStar3, key: 'f' },
  { to: '/services', label: 'Services', icon: IconApps, key: 's' },
  { to: '/hosts', label: 'Hosts', icon: IconServer2, key: 'h' },
  { to: '/advice', label: 'Advice', icon: IconBulb, key: 'a' },
  { to: '/experiments', label: 'Experiments', icon: IconFlask, key: 'x' },
  { to: '/simulator', label: 'Simulator', icon: IconPlayerTrackNext, key: 'i' },
  { to: '/capacity', label: 'Capacity', icon: IconChartAreaLine, key: 'c' },
  { to: '/tco', label: 'TCO', icon: IconCoins, key: 'o' },
  { to: '/alerts', label: 'Alerts', icon: IconBell, key: 'e' },
  { to: '/explore', label: 'Explore', icon: IconChartLine, key: 'p' },
  { to: '/agents', label: 'Agents', icon: IconBroadcast, key: 'v' },
  { to: '/data-quality', label: 'Data quality', icon: IconClipboardCheck, key: 'q' },
  { to: '/admin', label: 'Administration', icon: IconUsersGroup, key: 'u' },
  { to: '/status', label: 'Status', icon: IconHeartbeat, key: 't' },
] as const

type Destination = (typeof destinations)[number]

/** What a viewer needs one of to be shown a page; pages that are not named are shown to all who may read. */
const needs: Partial<Record<Destination['to'], PermissionName[]>> = {
  '/agents': ['read:agents'],
  '/admin': ['write:users', 'write:tokens', 'read:audit', 'purge:data'],
}

/** The pages that a viewer may open. */
export function openDestinations(may: (permission: PermissionName) => boolean): Destination[] {
  return destinations.filter(({ to }) => needs[to]?.some(may) ?? true)
}
