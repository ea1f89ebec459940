import { Skeleton, UnstyledButton } from '@mantine/core'
import { IconFilter } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import type { CounterNames } from '../../../api/_generated/schema'
import type { LoadState } from '../../../lib/loadState'
import { Panel } from '../../../ui/layout/Panel'
import { EmptyState } from '../../../ui/states/EmptyState'
import { ProblemState } from '../../../ui/states/ProblemState'
import classes from './CounterPicker.module.css'
import { TextField } from '../../../ui/inputs/fields'

interface NamedCounter {
  name: string
  source: string
  scopes: number
}

const mostShown = 300

/** The sources that questions about tiers start from; others follow in the order of the answer. */
const firstSources = ['vmstat', 'numastat', 'meminfo', 'pressure.memory', 'memory.stat']

function sourceRank(source: string): number {
  const rank = firstSources.indexOf(source)
  return rank < 0 ? firstSources.length : rank
}

/** Counters by name and source, each once; the number tells how many scopes have it. */
function group(names: CounterNames): NamedCounter[] {
  const found = new Map<string, NamedCounter>()
  for (const item of names.items) {
    const key = `${item.source}|${item.name}`
    const known = found.get(key)
    if (known === undefined) found.set(key, { name: item.name, source: item.source, scopes: 1 })
    else known.scopes += 1
  }
  return [...found.values()].sort((a, b) => sourceRank(a.source) - sourceRank(b.source))
}

interface CounterPickerProps {
  names: CounterNames | undefined
  load: LoadState
  /** `source|name`. */
  chosen: string
  onChoose: (name: string, source: string) => void
}

/** The host's counters, filtered by a part of their name or source. */
export function CounterPicker({ names, load, chosen, onChoose }: CounterPickerProps) {
  const [filter, setFilter] = useState('')
  const all = useMemo(() => (names === undefined ? [] : group(names)), [names])
  const words = filter.toLowerCase().split(/\s+/)
  const found = all.filter((item) => words.every((word) => `${item.source} ${item.name}`.toLowerCase().includes(word)))
  const body = () => {
    if (load.problem !== null && names === undefined)
      return <ProblemState problem={load.problem} onRetry={load.retry} />
    if (names === undefined) return <Skeleton height={400} m="sm" />
    if (found.length === 0)
      return <EmptyState title="No matching counter" next="Try a part of its kernel name, such as demote or refault." />
    return (
      <ul className={classes.list}>
        {found.slice(0, mostShown).map((item) => (
          <li key={`${item.source}|${item.name}`}>
            <UnstyledButton
              className={classes.item}
              data-chosen={`${item.source}|${item.name}` === chosen}
              aria-pressed={`${item.source}|${item.name}` === chosen}
              onClick={() => onChoose(item.name, item.source)}
            >
              <span className={classes.name}>{item.name}</span>
              <span className={classes.source}>
                {item.source}
                {item.scopes > 1 && ` × ${item.scopes}`}
              </span>
            </UnstyledButton>
          </li>
        ))}
      </ul>
    )
  }
  return (
    <Panel
      title="Counters"
      hint={names === undefined ? undefined : `${Math.min(found.length, mostShown)} of ${all.length} names`}
      flush
      testId="counter-picker"
    >
      <TextField
        aria-label="Filter counters"
        placeholder="Filter by name or source"
        leftSection={<IconFilter size={14} />}
        value={filter}
        onText={setFilter}
        px="sm"
        pb={6}
      />
      {body()}
    </Panel>
  )
}
