import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { EventItem } from '../../../api/_generated/schema'
import { hostsQuery } from '../../../api/queries/fleet/hosts'
import { servicesQuery } from '../../../api/queries/fleet/services'
import { CompareSelect } from './CompareSelect'
import type { ComparedNoun, TimeComparison } from './useTimeComparison'

interface SubjectCompareProps {
  noun: ComparedNoun
  /** The page's own host or service; the fleet has none. */
  id?: string
  /** What it is compared with, as the URL has it, and as it was read. */
  compare: string | undefined
  comparison: TimeComparison | null
  events: EventItem[]
}

/** With what the charts of a page are compared; the address keeps it. */
export function SubjectCompare({ noun, id, compare, comparison, events }: SubjectCompareProps) {
  const navigate = useNavigate()
  // The others are asked for once somebody looks.
  const [isOpened, setOpened] = useState(false)
  const hosts = useQuery({ ...hostsQuery(null), enabled: isOpened && noun === 'host' })
  const services = useQuery({ ...servicesQuery(null), enabled: isOpened && noun === 'service' })
  const others = (noun === 'host' ? hosts : services).data?.items ?? []
  return (
    <CompareSelect
      compare={compare}
      noun={noun}
      others={others.filter((other) => other.id !== id).map((other) => ({ value: other.id, label: other.name }))}
      events={events}
      unlisted={comparison?.words.other ?? ''}
      testId="compare"
      onChoose={(next) =>
        void navigate({ to: '.', search: (before) => ({ ...before, compare: next }), resetScroll: false })
      }
      onOpen={() => setOpened(true)}
    />
  )
}
