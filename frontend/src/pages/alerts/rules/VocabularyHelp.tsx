import { Button, Collapse, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import type { Vocabulary } from '../../../api/_generated/schema'
import { unitLabel } from '../../../lib/units/units'
import { Prose } from '../../../ui/text/Prose'
import classes from './VocabularyHelp.module.css'
import { SwitchField, TextField } from '../../../ui/inputs/fields'

interface VocabularyHelpProps {
  vocabulary: Vocabulary | undefined
  scope: 'host' | 'service' | 'fleet'
  onInsert: (word: string) => void
}

const most = 60

/** Everything that conditions can name, with unit and meaning; a click puts it into the condition. */
export function VocabularyHelp({ vocabulary, scope, onInsert }: VocabularyHelpProps) {
  const [opened, setOpened] = useState(false)
  const [query, setQuery] = useState('')
  const [all, setAll] = useState(false)
  const words = query.toLowerCase().split(/\s+/)
  const found = (vocabulary?.series ?? []).filter(
    (item) =>
      item.scopes.includes(scope) &&
      (all || !item.in_catalogue) &&
      words.every((word) => `${item.name} ${item.meaning}`.toLowerCase().includes(word)),
  )
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-xs"
        aria-expanded={opened}
        onClick={() => setOpened(!opened)}
        disabled={vocabulary === undefined}
      >
        {opened ? 'Hide metrics and functions' : 'Metrics and functions'}
      </Button>
      <Collapse expanded={opened}>
        <div className={classes.controls}>
          <TextField aria-label="Find a series" placeholder="find a series" value={query} onText={setQuery} />
          <SwitchField label="include kernel counters" checked={all} onChecked={setAll} />
          <span>
            {found.length} per {scope}
            {found.length > most && `, the first ${most}`}
          </span>
        </div>
        <ul className={classes.list} tabIndex={0} aria-label="Series">
          {found.slice(0, most).map((item) => (
            <li key={item.name}>
              <UnstyledButton className={classes.name} onClick={() => onInsert(item.name)}>
                {item.name}
              </UnstyledButton>
              <span className={classes.unit}>
                {item.words.length > 0 ? item.words.join(' | ') : unitLabel(item.unit)}
              </span>
              <span className={classes.meaning}>
                <Prose text={item.meaning} />
                {item.expression !== null && <code> = {item.expression}</code>}
              </span>
            </li>
          ))}
        </ul>
        <p className={classes.functions}>
          {(vocabulary?.functions ?? []).map((item) => (
            <span key={item.name}>
              <code>{item.meaning.split(':')[0]}</code>
              {item.meaning.slice(item.meaning.indexOf(':'))}
            </span>
          ))}
          <span>Units: {(vocabulary?.units ?? []).join(', ')}</span>
        </p>
      </Collapse>
    </div>
  )
}
