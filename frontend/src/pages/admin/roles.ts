/** The roles; each may do what those before it may. */
export const roles = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]
