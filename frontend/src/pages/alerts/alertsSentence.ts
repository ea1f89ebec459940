import type { Alert } from '../../api/_generated/schema'
import { urgency } from '../../lib/alerts'

function count(n: number, one: string): string {
  return `${n} ${n === 1 ? one : `${one}s`}`
}

/** What fires, the most severe first, and which of it nobody looks after. */
export function alertsSentence(open: Alert[]): string {
  const firing = open.filter(({ state }) => state === 'firing')
  const silent = open.filter(({ state }) => state === 'no_data').length
  const unknown = silent === 0 ? '' : ` ${count(silent, 'subject')} without data.`
  if (firing.length === 0) {
    const pending = open.filter(({ state }) => state === 'pending').length
    return `No alerts firing.${pending === 0 ? '' : ` ${count(pending, 'alert')} pending.`}${unknown}`
  }
  const parts = (['critical', 'warning', 'info'] as const).flatMap((severity) => {
    const n = firing.filter((alert) => alert.severity === severity).length
    return n === 0 ? [] : [`${n} ${severity}`]
  })
  const alone = firing.filter((alert) => alert.acknowledged === null && alert.silenced_by.length === 0)
  const [worst] = [...(alone.length > 0 ? alone : firing)].sort((a, b) => urgency(a) - urgency(b))
  const first = worst === undefined ? '' : ` Most urgent: ${worst.rule_name} on ${worst.subject.name}.`
  const owned = alone.length === firing.length ? '' : ` ${firing.length - alone.length} acknowledged or silenced.`
  return `${count(firing.length, 'alert')} firing: ${parts.join(', ')}.${owned}${first}${unknown}`
}
