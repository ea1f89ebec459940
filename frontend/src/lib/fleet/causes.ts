import { verdictText, type VerdictText } from '../text/verdicts'

/** What is needed of a cause to name it. */
interface Cause {
  kind: 'state' | 'verdict' | 'setting' | 'finding'
  key: string
  cause: string | null
}

export type NamedCause = Pick<Cause, 'kind' | 'key'>

/** What is needed of a host to tell whether a cause holds for it. */
interface Suspect {
  origin: string
  state: string
  verdict: string
  tiering_off: boolean | null
  findings: { id: string; severity: string }[]
}

const words: Record<string, { label: string; meaning: string }> = {
  silent: {
    label: 'silent',
    meaning: 'Nothing has come of the host for several minutes: what it does is not known.',
  },
  late: { label: 'late', meaning: 'The newest report is older than two sending intervals.' },
  tiering_off: {
    label: 'tiering disabled',
    meaning: 'The host has slower tiers, but the kernel is told not to move pages between them.',
  },
}

/** A cause in words, and what it means. */
export function causeText({ kind, key, cause }: Cause): { label: string; meaning: string } {
  if (kind === 'verdict') return verdictText(key)
  if (kind === 'finding') return { label: key.replaceAll(/[-_]/g, ' '), meaning: cause ?? '' }
  return words[key] ?? { label: key.replaceAll('_', ' '), meaning: '' }
}

/** How an address names a cause: `verdict:stalled`, `state:silent`. */
export function writeCause({ kind, key }: NamedCause): string {
  return `${kind}:${key}`
}

/** That a host which should report does not; null where it does. A recorded host sends nothing any more: no trouble. */
export function quietOf({ origin, state }: { origin: string; state: string | null }): 'silent' | 'late' | null {
  return origin !== 'import' && (state === 'silent' || state === 'late') ? state : null
}

/** What a link can narrow the list of hosts to: the verdict of a host, and every cause of trouble that it has. */
export function causesOf(host: Suspect): NamedCause[] {
  const quiet = quietOf(host)
  return [
    ...(quiet === null ? [] : [{ kind: 'state' as const, key: quiet }]),
    { kind: 'verdict', key: host.verdict },
    ...(host.tiering_off === true ? [{ kind: 'setting' as const, key: 'tiering_off' }] : []),
    ...host.findings
      .filter(({ severity }) => severity !== 'info')
      .map(({ id }) => ({ kind: 'finding' as const, key: id })),
  ]
}

/** What a host suffers from beside its findings, in words: silence, a grave verdict, settings that move nothing. */
export function sufferingsOf(host: Suspect): (VerdictText & NamedCause)[] {
  return causesOf(host)
    .filter(({ kind }) => kind !== 'finding')
    .map((cause) => {
      const tone =
        cause.kind === 'verdict' ? verdictText(cause.key).tone : cause.key === 'silent' ? 'critical' : 'warning'
      return { ...cause, ...causeText({ ...cause, cause: null }), tone }
    })
    .filter(
      ({ kind, key, tone }) =>
        (tone === 'warning' || tone === 'critical') && !(kind === 'setting' && key === host.verdict),
    )
}

const kinds = ['state', 'verdict', 'setting', 'finding']

/** Whether an address names a cause; one that names none holds for all hosts. */
export function isCause(named: string): boolean {
  const [kind, key] = named.split(':')
  return kinds.includes(kind ?? '') && key !== undefined && key !== ''
}

const tones = { critical: 3, warning: 2, info: 1, neutral: 0.5, good: 0 } as const

/** How badly a host does, for lists that begin with the worst: silence and grave verdicts before findings. */
export function troubleOf(host: Suspect): number {
  const quiet = quietOf(host)
  const state = quiet === 'silent' ? 3 : quiet === 'late' ? 2 : 0
  const finding = host.findings.reduce(
    (most, { severity }) => Math.max(most, severity === 'critical' ? 3 : severity === 'warning' ? 2 : 0),
    0,
  )
  const parts = [state, tones[verdictText(host.verdict).tone], host.tiering_off === true ? 2 : 0, finding]
  // The worst part decides; among equals, how much there is of it.
  return Math.max(...parts) * 100 + parts.reduce((sum, part) => sum + part, 0)
}
