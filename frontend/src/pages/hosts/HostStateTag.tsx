import { ToneTag, type Tone } from '../../ui/tags/ToneTag'

const states: Record<string, { tone: Tone; meaning: string }> = {
  reporting: { tone: 'good', meaning: 'Its newest upload is on time.' },
  late: { tone: 'warning', meaning: 'Its newest upload is overdue.' },
  silent: { tone: 'critical', meaning: 'It has not uploaded for a long time.' },
  retired: { tone: 'neutral', meaning: 'Silent for 30 days; kept, not counted.' },
}

/** Whether a host reports, as icon and word. */
export function HostStateTag({ state }: { state: string }) {
  const known = states[state] ?? { tone: 'neutral' as const, meaning: state }
  return <ToneTag tone={known.tone} label={state} meaning={known.meaning} />
}
