/** What a page or control needs; the names of the service. */
export type PermissionName =
  | 'read:routes'
  | 'read:fleet'
  | 'read:agents'
  | 'read:audit'
  | 'operate:agents'
  | 'write:agents'
  | 'write:tokens'
  | 'write:own'
  | 'write:advice'
  | 'write:events'
  | 'write:experiments'
  | 'write:reports'
  | 'write:routes'
  | 'write:rules'
  | 'write:scenarios'
  | 'write:silences'
  | 'write:sweeps'
  | 'write:users'
  | 'write:labels'
  | 'purge:data'

const meanings: Record<string, string> = {
  'read:fleet': 'Read hosts, services, counters and aggregate heat',
  'read:tiles': 'Read page-level heat',
  'read:routes': 'Read notification routes',
  'read:agents': 'Read the state of agents',
  'read:audit': 'Read the audit trail',
  'write:events': 'Add events',
  'write:advice': 'Adopt and dismiss advice',
  'write:experiments': 'Run experiments',
  'write:sweeps': 'Run the simulator',
  'write:scenarios': 'Save TCO scenarios and prices',
  'write:reports': 'Schedule reports',
  'write:rules': 'Change alert rules',
  'write:silences': 'Silence and acknowledge alerts',
  'write:routes': 'Change notification routes',
  'operate:agents': 'Pause and resume agents',
  'write:agents': 'Enrol hosts',
  'write:tokens': 'Create and revoke tokens',
  'write:own': 'Change your own password, tokens and saved views',
  'write:users': 'Change users and teams',
  'write:labels': 'Label hosts',
  'write:samples': 'Send samples by remote write',
  'purge:data': 'Delete data permanently',
}

/** What a permission allows, in words; the name itself where it is new to this dashboard. */
export function permissionText(name: string): string {
  return meanings[name] ?? name
}

/** The path that a viewer returns to after logging in; the fleet where the text is no path of this dashboard. */
export function returnPath(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) && !next.startsWith('/login') ? next : '/'
}
