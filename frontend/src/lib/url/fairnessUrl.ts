/** What is chosen about fairness, in addresses. */
export const fairBases = ['hot', 'resident', 'protection', 'limit'] as const
export type FairBasis = (typeof fairBases)[number]
export type TenantKind = 'service' | 'cgroup'
export const limitKinds = ['proposal', 'low', 'max'] as const
export type LimitKind = (typeof limitKinds)[number]
