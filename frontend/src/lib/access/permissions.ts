/** What a page or control needs; the names of the service. */
export type PermissionName =
  | 'read:fleet'
  | 'read:agents'
  | 'read:audit'
  | 'operate:agents'
  | 'write:agents'
  | 'write:tokens'
  | 'write:own'
  | 'write:users'
  | 'write:labels'
  | 'purge:data'

const meanings: Record<string, string> = {
  'read:fleet': 'Read hosts, services, counters and heat in sums',
  'read:tiles': 'Read page-level heat',
  'read:routes': 'Read where alerts are sent',
  'read:agents': 'Read the state of agents',
  'read:audit': 'Read the audit trail',
  'write:events': 'Mark events',
  'write:advice': 'Adopt and dismiss advice',
  'write:experiments': 'Run experiments',
  'write:sweeps': 'Run the simulator',
  'write:scenarios': 'Keep scenarios of cost and prices',
  'write:reports': 'Schedule reports',
  'write:rules': 'Change alert rules',
  'write:silences': 'Silence and acknowledge alerts',
  'write:routes': 'Change where alerts are sent',
  'operate:agents': 'Pause and resume agents',
  'write:agents': 'Enrol hosts',
  'write:tokens': 'Make and revoke tokens',
  'write:own': 'Change one’s own password and tokens',
  'write:users': 'Change users and teams',
  'write:labels': 'Label hosts',
  'write:samples': 'Send samples by remote write',
  'purge:data': 'Remove data for ever',
}

/** What a permission allows, in words; the name itself where it is new to this dashboard. */
export function permissionText(name: string): string {
  return meanings[name] ?? name
}

/** The path that a viewer returns to after logging in; the fleet where the text is no path of this dashboard. */
export function returnPath(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) && !next.startsWith('/login') ? next : '/'
}
