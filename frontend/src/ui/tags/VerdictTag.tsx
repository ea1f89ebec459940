import { verdictText } from '../../lib/text/verdicts'
import { windowMark, type TimeWindow } from '../../lib/units/figure'
import { ToneTag } from './ToneTag'

interface VerdictTagProps {
  verdict: string
  /** The time it was judged over; none where it tells of now. */
  window?: TimeWindow | undefined
  /** Why it was judged so; what the word means, where nobody says. */
  explanation?: string
}

/** The verdict on a host or a service, in the words of this dashboard. */
export function VerdictTag({ verdict, window, explanation }: VerdictTagProps) {
  const { tone, label, meaning } = verdictText(verdict)
  return (
    <span data-verdict={verdict} data-window={windowMark(window ?? null)}>
      <ToneTag tone={tone} label={label} meaning={explanation ?? meaning} />
    </span>
  )
}
