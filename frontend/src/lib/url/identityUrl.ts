import { oneOf, readTimeSearch, text, type RawSearch, type TimeSearch } from './urlState'

/** Why a login through the provider came to nothing. */
export const loginErrors = ['expired', 'refused', 'failed', 'not-allowed', 'disabled', 'unreachable'] as const

/** Parameters of the login page: where to go afterwards, and why the last try failed. */
export interface LoginSearch extends TimeSearch {
  next?: string | undefined
  error?: (typeof loginErrors)[number] | undefined
}

export const adminTabs = ['users', 'teams', 'tokens', 'audit', 'removals'] as const
export type AdminTab = (typeof adminTabs)[number]

/** Parameters of the administration page: its tab and the filters of the audit trail. */
export interface AdminSearch extends TimeSearch {
  tab?: AdminTab | undefined
  actor?: string | undefined
  action?: string | undefined
  subject?: string | undefined
}

/** The login page's part of a URL. */
export function readLoginSearch(raw: RawSearch): LoginSearch {
  return { ...readTimeSearch(raw), next: text(raw, 'next', 1000), error: oneOf(raw, 'error', loginErrors) }
}

/** The administration page's part of a URL. */
export function readAdminSearch(raw: RawSearch): AdminSearch {
  return {
    ...readTimeSearch(raw),
    tab: oneOf(raw, 'tab', adminTabs),
    actor: text(raw, 'actor', 300),
    action: text(raw, 'action', 100),
    subject: text(raw, 'subject', 300),
  }
}
