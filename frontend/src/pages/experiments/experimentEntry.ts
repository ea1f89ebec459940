import type { CanaryProposal, ExperimentRequest } from '../../api/_generated/schema'

/** What the form holds. Empty number fields are texts. */
export interface ExperimentEntry {
  name: string
  service: string
  metric: string | undefined
  /** In per cent. */
  margin: number | string
  canary: number | string
  hypothesis: string
  /** Hours until the change, before it, and after it. */
  startsIn: number | string
  before: number | string
  hours: number | string
  settlingMinutes: number | string
}

/** The form as it opens: a day before, a day after, half an hour to settle. */
export function blankEntry(service: string): ExperimentEntry {
  return {
    name: '',
    service,
    metric: undefined,
    margin: 1,
    canary: 5,
    hypothesis: '',
    startsIn: 0,
    before: 24,
    hours: 24,
    settlingMinutes: 30,
  }
}

/** The form for a change of the plan, as long as advice asks for: name, hypothesis and arms come from the proposal. */
export function entryOf(proposal: CanaryProposal): ExperimentEntry {
  return {
    ...blankEntry(proposal.service_id),
    name: proposal.experiment_name,
    hypothesis: proposal.hypothesis,
    canary: Math.max(proposal.canary.length, 1),
  }
}

/** Hosts of both arms by id, where they are named; null where they are drawn when the experiment starts. */
export interface NamedArms {
  canary: string[]
  control: string[]
  /** With which they were drawn at random; null where they were chosen. */
  seed: number | null
}

export function armsOf(proposal: CanaryProposal | null): NamedArms | null {
  if (proposal === null) return null
  return {
    canary: proposal.canary.map(({ host_id: id }) => id),
    control: proposal.control.map(({ host_id: id }) => id),
    seed: proposal.seed,
  }
}

const hourMs = 3_600_000

/** The request of a form, seen from `now` in milliseconds; null while something is missing or cannot be. */
export function requestOf(
  entry: ExperimentEntry,
  metric: string | undefined,
  adviceId: string | undefined,
  now: number,
  arms: NamedArms | null = null,
): ExperimentRequest | null {
  const number = (value: number | string) => (value === '' ? NaN : Number(value))
  const [margin, canary, startsIn, before, hours, settling] = [
    number(entry.margin),
    number(entry.canary),
    number(entry.startsIn),
    number(entry.before),
    number(entry.hours),
    number(entry.settlingMinutes),
  ]
  const chosen = entry.metric ?? metric
  if (entry.name.trim() === '' || entry.service === '' || chosen === undefined) return null
  const positive = margin > 0 && canary >= 1 && Number.isInteger(canary) && before > 0 && hours > 0
  if (!positive || !(startsIn >= 0) || !(settling >= 0) || settling * 60 >= hours * 3600) return null
  if (arms !== null && (arms.canary.length === 0 || arms.control.length === 0)) return null
  const change = now + startsIn * hourMs
  return {
    name: entry.name.trim(),
    service_id: entry.service,
    advice_id: adviceId ?? null,
    hypothesis: entry.hypothesis.trim(),
    metrics: [{ metric: chosen, margin_ratio: margin / 100 }],
    auto: arms === null ? { canary_n: canary } : null,
    canary: arms?.canary ?? [],
    control: arms?.control ?? [],
    seed: arms?.seed ?? null,
    before_from: new Date(change - before * hourMs).toISOString(),
    change_at: new Date(change).toISOString(),
    planned_end: new Date(change + hours * hourMs).toISOString(),
    settling_seconds: Math.round(settling * 60),
  }
}
