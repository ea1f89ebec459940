import type {
  Account,
  AuditRow,
  LoginMethods,
  OwnToken,
  SavedView,
  Session,
  Team,
  TokenInfo,
  User,
} from '../api/_generated/schema'
import { mockNow } from './figures'

const ago = (minutes: number): string => new Date((mockNow - minutes * 60) * 1000).toISOString()
const ahead = (days: number): string => new Date((mockNow + days * 86_400) * 1000).toISOString()

/** A session of an administrator. */
export const session: Session = {
  kind: 'session',
  name: 'ana',
  role: 'admin',
  permissions: [
    'public',
    'read:fleet',
    'read:agents',
    'read:audit',
    'operate:agents',
    'write:agents',
    'write:tokens',
    'write:own',
    'write:events',
    'write:users',
    'write:labels',
    'purge:data',
  ],
  owner_permissions: ['read:tiles'],
  teams: [{ id: 'team-1', name: 'Storage' }],
  user_id: 'u-1',
  csrf_token: 'csrf',
  anonymous_reads: false,
  logout_url: null,
}

/** Somebody who only reads, without a login. */
export const anonymous: Session = {
  ...session,
  kind: 'anonymous',
  name: 'anonymous',
  role: null,
  permissions: ['public', 'read:fleet'],
  owner_permissions: [],
  csrf_token: null,
  anonymous_reads: true,
}

/** Nobody, where reading needs a login. */
export const nobody: Session = {
  ...anonymous,
  kind: 'nobody',
  name: null,
  permissions: ['public'],
  anonymous_reads: false,
}

export const loginMethods: LoginMethods = {
  password: true,
  oidc: { label: 'Example SSO', start_url: '/v1/login/oidc/start' },
}

export const account: Account = {
  user_id: 'u-1',
  name: 'ana',
  display_name: 'Ana Ito',
  email: 'ana@example.org',
  role: 'admin',
  source: 'local',
  can_change_password: true,
  teams: [{ id: 'team-1', name: 'Storage' }],
  token_scopes: ['read:fleet', 'write:events'],
}

export const users: User[] = [
  {
    id: 'u-1',
    name: 'ana',
    display_name: 'Ana Ito',
    email: 'ana@example.org',
    role: 'admin',
    source: 'local',
    disabled: false,
    teams: ['team-1'],
    created_at: ago(50_000),
    last_login_at: ago(30),
  },
  {
    id: 'u-2',
    name: 'ben@example.org',
    display_name: '',
    email: null,
    role: 'viewer',
    source: 'oidc',
    disabled: true,
    teams: [],
    created_at: ago(9000),
    last_login_at: null,
  },
]

export const teams: Team[] = [{ id: 'team-1', name: 'Storage', members: ['u-1'], services: ['svc-redis'] }]

const token: TokenInfo = {
  id: 't-1',
  kind: 'api',
  role: 'operator',
  note: 'deploy pipeline',
  uses_left: null,
  origin: null,
  labels: {},
  scopes: null,
  user_name: null,
  created_at: ago(4000),
  expires_at: ahead(3650),
  last_used_at: ago(2),
  revoked_at: null,
}

export const tokens: TokenInfo[] = [
  token,
  { ...token, id: 't-2', kind: 'join', role: null, note: 'rack 12', uses_left: 12, last_used_at: null },
  { ...token, id: 't-3', note: 'old pipeline', revoked_at: ago(100) },
]

export const ownTokens: OwnToken[] = [
  {
    id: 't-9',
    note: 'notebook',
    scopes: ['read:fleet'],
    created_at: ago(600),
    expires_at: ahead(60),
    last_used_at: null,
  },
]

export const audit: AuditRow[] = [
  { at: ago(3), actor: 'ana', action: 'token.create', subject: 't-1', detail: { role: 'operator', days: 90 } },
  { at: ago(40), actor: 'ana', action: 'user.update', subject: 'u-2', detail: { disabled: true } },
]

/** One of the viewer's own, and one that another person shares. */
export const views: SavedView[] = [
  {
    id: 'v-2',
    name: 'hot hosts',
    address: '/hosts?q=rack1',
    shared: false,
    created_at: ago(10),
    created_by: 'ana',
    changeable: true,
  },
  {
    id: 'v-1',
    name: 'wall',
    address: '/status?from=-1h',
    shared: true,
    created_at: ago(100),
    created_by: 'ben',
    changeable: false,
  },
]
