import { ToneTag, type Tone } from './ToneTag'

export type SwapVerdict = 'pays' | 'may_pay' | 'does_not_pay' | 'keep_out'

const words: Record<SwapVerdict, { tone: Tone; label: string }> = {
  pays: { tone: 'good', label: 'pays' },
  may_pay: { tone: 'info', label: 'may pay' },
  does_not_pay: { tone: 'neutral', label: 'does not pay' },
  keep_out: { tone: 'warning', label: 'keep out' },
}

/** What advice says of swap for a service. */
export function SwapVerdictTag({ verdict }: { verdict: SwapVerdict }) {
  return <ToneTag {...words[verdict]} />
}
