import {
  IconApps,
  IconBell,
  IconBulb,
  IconChartAreaLine,
  IconCoins,
  IconFlask,
  IconHeartbeat,
  IconPlayerTrackNext,
  IconServer2,
  IconTopologyStar3,
} from '@tabler/icons-react'

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
  { to: '/status', label: 'Status', icon: IconHeartbeat, key: 't' },
] as const
