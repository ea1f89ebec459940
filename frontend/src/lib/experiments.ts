type ExperimentVerdict = 'improved' | 'no_difference' | 'worse' | 'inconclusive'
type ExperimentState = 'planned' | 'running' | 'ended'

type Tone = 'good' | 'info' | 'warning' | 'critical' | 'neutral'

interface Word {
  label: string
  meaning: string
  tone: Tone
}

const verdicts: Record<ExperimentVerdict, Word> = {
  improved: { label: 'improved', meaning: 'The whole interval lies on the better side of zero.', tone: 'good' },
  no_difference: { label: 'no difference', meaning: 'No harm that matters, and no gain detected.', tone: 'info' },
  worse: { label: 'worse', meaning: 'The whole interval lies on the worse side of zero.', tone: 'critical' },
  inconclusive: {
    label: 'inconclusive',
    meaning: 'The interval is too wide to tell: use more hosts or more time.',
    tone: 'warning',
  },
}

const states: Record<ExperimentState, Word> = {
  planned: { label: 'planned', meaning: 'The change has not been made yet.', tone: 'neutral' },
  running: {
    label: 'running',
    meaning: 'The verdict comes at the end: peeking early inflates false positives.',
    tone: 'info',
  },
  ended: { label: 'ended', meaning: 'The result is final.', tone: 'neutral' },
}

/** An experiment's verdict in words; null while there is none. */
export function experimentVerdict(verdict: ExperimentVerdict | null): Word | null {
  return verdict === null ? null : verdicts[verdict]
}

/** Where an experiment stands, in words. */
export function experimentState(state: ExperimentState): Word {
  return states[state]
}
