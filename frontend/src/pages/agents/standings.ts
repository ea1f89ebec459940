import type { AgentVersion } from '../../api/_generated/schema'
import type { Tone } from '../../ui/tags/ToneTag'

/** How a release of the agent stands to that of the service, in words. */
export const standings: Record<AgentVersion['standing'], { label: string; tone: Tone; meaning: string }> = {
  current: { label: 'current', tone: 'good', meaning: 'The release of this service.' },
  behind: {
    label: 'outdated',
    tone: 'info',
    meaning: 'Older than this service but supported. Upgrade when convenient.',
  },
  too_old: { label: 'too old', tone: 'critical', meaning: 'No longer supported. Upgrade these hosts.' },
  ahead: {
    label: 'ahead',
    tone: 'warning',
    meaning: 'Newer than this service. Upgrade the service first, then its agents.',
  },
  unknown: { label: 'unknown', tone: 'neutral', meaning: 'Its release has not been reported yet.' },
}
