import { Button, Select, type ComboboxData } from '@mantine/core'
import { earlierChoices, writeComparison } from '../../../lib/comparison'
import { formatLocal } from '../../../lib/units/time'
import { eventName, type ComparedNoun } from './useTimeComparison'

/** Another host or service to compare with. */
export interface OtherChoice {
  value: string
  label: string
}

interface CompareSelectProps {
  /** What it is compared with, as the URL has it. */
  compare: string | undefined
  noun: ComparedNoun
  /** Others of the same noun, by their id. */
  others: OtherChoice[]
  events: { id: string; at: string; kind: string; text: string }[]
  /** What the address says, where none of the choices is it. */
  unlisted: string
  testId: string
  onChoose: (compare: string | undefined) => void
  /** The list is opened: its others may be fetched. */
  onOpen?: (() => void) | undefined
}

const none = 'none'
/** Choices that the list shows at once; the rest is found by typing. */
const mostShown = 100

function choices({ compare, noun, others, events, unlisted }: CompareSelectProps): ComboboxData {
  const earlier = earlierChoices.map(({ value, label }) => ({ value, label: `vs ${label}` }))
  const named =
    noun === 'fleet'
      ? []
      : others.map(({ value, label }) => ({ value: writeComparison(noun, value), label: `vs ${label}` }))
  const before = [...events].reverse().map((event) => ({
    value: writeComparison('event', event.id),
    label: `vs before ${eventName(event)}, ${formatLocal(new Date(event.at))}`,
  }))
  const isListed = compare === undefined || [...earlier, ...named, ...before].some(({ value }) => value === compare)
  return [
    { value: none, label: 'No comparison' },
    ...(isListed ? [] : [{ value: compare, label: `vs ${unlisted}` }]),
    { group: `Same ${noun}`, items: earlier },
    ...(before.length > 0 ? [{ group: 'After an event against before it', items: before }] : []),
    ...(named.length > 0 ? [{ group: `Same time, another ${noun}`, items: named }] : []),
  ]
}

/** With what a view is compared, and a way back to no comparison. */
export function CompareSelect(props: CompareSelectProps) {
  const { compare, testId, onChoose, onOpen } = props
  return (
    <>
      <Select
        aria-label="Compare with"
        data-testid={testId}
        w={170}
        searchable
        limit={mostShown}
        data={choices(props)}
        value={compare ?? none}
        onChange={(value) => onChoose(value === null || value === none ? undefined : value)}
        onDropdownOpen={onOpen}
        comboboxProps={{ width: 300, position: 'bottom-end' }}
      />
      {compare !== undefined && (
        <Button variant="subtle" onClick={() => onChoose(undefined)}>
          Reset comparison
        </Button>
      )}
    </>
  )
}
