import { Modal } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useState, type KeyboardEvent } from 'react'
import classes from './SearchDialog.module.css'
import { useHits, type Hit, type PaletteActions } from './useHits'
import { TextField } from '../../../ui/inputs/fields'

interface SearchDialogProps {
  opened: boolean
  onClose: () => void
  actions: PaletteActions
}

/** Ctrl-K: any service, host, rule, saved view or page by a part of its name, what was opened before, and what can be done. */
export function SearchDialog({ opened, onClose, actions }: SearchDialogProps) {
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState(0)
  const hits = useHits(query, opened, actions)
  // A long list scrolls along with the arrow keys.
  useEffect(() => {
    document.getElementById(`hit-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const close = () => {
    setQuery('')
    setChosen(0)
    onClose()
  }
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return
    close()
    hit.open()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      const step = event.key === 'ArrowDown' ? 1 : -1
      setChosen((chosen + step + hits.length) % Math.max(1, hits.length))
    }
    if (event.key === 'Enter') open(hits[chosen])
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size={520}
      yOffset="12vh"
      // There at once and with the focus, so that what is typed right after Ctrl-K is not lost.
      transitionProps={{ duration: 0 }}
      attributes={{ content: { 'aria-label': 'Search' } }}
    >
      <TextField
        data-autofocus
        autoFocus
        size="md"
        variant="unstyled"
        className={classes.input}
        leftSection={<IconSearch size={16} />}
        placeholder="Service, host, rule, page or action"
        value={query}
        onText={(text) => {
          setQuery(text)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-label="Find a service, host, rule, page or action"
        aria-expanded
        aria-controls="search-hits"
        aria-activedescendant={hits[chosen] === undefined ? undefined : `hit-${chosen}`}
      />
      <ul className={classes.hits} id="search-hits" role="listbox" aria-label="Results">
        {hits.map((hit, index) => (
          <li
            key={hit.key}
            id={`hit-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={classes.hit}
            onClick={() => open(hit)}
            onPointerMove={() => setChosen(index)}
          >
            <span className={classes.kind}>{hit.kind}</span>
            <span className={classes.label}>{hit.label}</span>
            <span className={classes.detail}>{hit.detail}</span>
          </li>
        ))}
        {hits.length === 0 && <li className={classes.none}>No results. Try part of the name.</li>}
      </ul>
    </Modal>
  )
}
