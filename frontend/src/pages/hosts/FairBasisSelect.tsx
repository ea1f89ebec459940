import { Select } from '@mantine/core'
import { fairBases, type FairBasis } from '../../lib/url/fairnessUrl'

/** Definitions of fair as people read them. */
const labels: Record<FairBasis, string> = {
  hot: 'Hot memory',
  resident: 'Resident memory',
  protection: 'memory.low, memory.min',
  limit: 'memory.high, memory.max',
}

interface FairBasisSelectProps {
  /** What was chosen; undefined leaves the choice to the answer. */
  basis: FairBasis | undefined
  /** What the answer goes by. */
  shown: FairBasis
  onChoose: (basis: FairBasis | undefined) => void
}

/** What is fair between the tenants of a host. */
export function FairBasisSelect({ basis, shown, onChoose }: FairBasisSelectProps) {
  return (
    <Select
      aria-label="What is fair"
      value={basis ?? ''}
      onChange={(value) => onChoose(fairBases.find((name) => name === value))}
      data={[
        { value: '', label: `Fair: chosen (${labels[shown].toLowerCase()})` },
        ...fairBases.map((name) => ({ value: name, label: `Fair: ${labels[name]}` })),
      ]}
      w={280}
    />
  )
}
