import { formatLocal } from '../units/time'
import { formatCount } from '../units/units'

/** What is needed of hosts on database nodes that are away to tell of them. */
interface HostsAway {
  nodes: string[]
  hosts_away: number | null
  counted_at: string | null
}

/**
 * What stands beside every count of hosts while database nodes are away: `8 more are on node n2, which is away (counted
 * 27 Nov 2026, 15:02)`; null where all nodes answer, so that the count is of all hosts.
 */
export function awayWords(away: HostsAway | undefined): string | null {
  return wordsOf(away, '')
}

/** The same as a sentence of its own, for totals that lack these hosts; empty where all nodes answer. */
export function awaySentence(away: HostsAway | undefined): string {
  const words = wordsOf(away, away?.hosts_away === 1 ? ' host' : ' hosts')
  return words === null ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

function wordsOf(away: HostsAway | undefined, noun: string): string | null {
  if (away === undefined || away.nodes.length === 0) return null
  const last = away.nodes.at(-1) ?? ''
  const others = away.nodes.slice(0, -1).join(', ')
  const where = others === '' ? `node ${last}, which is away` : `nodes ${others} and ${last}, which are away`
  if (away.hosts_away === null) return `how many more${noun} are on ${where}, is not known`
  const counted = away.counted_at === null ? '' : ` (counted ${formatLocal(new Date(away.counted_at))})`
  return `${formatCount(away.hosts_away)} more${noun} ${away.hosts_away === 1 ? 'is' : 'are'} on ${where}${counted}`
}

/** What hosts are called by a count: those of nodes that are away are not among them. */
export function hostsCounted(away: HostsAway | undefined): string {
  return awayWords(away) === null ? 'hosts' : 'visible hosts'
}
