import { Modal, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState, type KeyboardEvent } from 'react'
import { hostsQuery } from '../../../api/queries/fleet/hosts'
import { rulesQuery } from '../../../api/queries/alerts/rules'
import { servicesQuery } from '../../../api/queries/fleet/services'
import { openDestinations } from './navigation'
import { useSession } from '../access/useSession'
import classes from './SearchDialog.module.css'

interface Hit {
  key: string
  kind: 'page' | 'service' | 'host' | 'rule'
  label: string
  detail: string
  open: () => void
}

const mostHits = 12

function useHits(query: string, enabled: boolean): Hit[] {
  const navigate = useNavigate()
  const { may } = useSession()
  const services = useQuery({ ...servicesQuery(null), enabled })
  const hosts = useQuery({ ...hostsQuery(null), enabled })
  const rules = useQuery({ ...rulesQuery(null), enabled })
  const all: Hit[] = [
    ...openDestinations(may).map(({ to, label }): Hit => ({
      key: to,
      kind: 'page',
      label,
      detail: 'page',
      open: () => void navigate({ to }),
    })),
    ...(services.data?.items ?? []).map((service): Hit => ({
      key: `s-${service.id}`,
      kind: 'service',
      label: service.name,
      detail: service.namespace,
      open: () => void navigate({ to: '/services/$serviceId', params: { serviceId: service.id } }),
    })),
    ...(hosts.data?.items ?? []).map((host): Hit => ({
      key: `h-${host.id}`,
      kind: 'host',
      label: host.name,
      detail: host.state,
      open: () => void navigate({ to: '/hosts/$hostId', params: { hostId: host.id } }),
    })),
    ...(rules.data?.items ?? []).map((rule): Hit => ({
      key: `r-${rule.id}`,
      kind: 'rule',
      label: rule.name,
      detail: rule.severity,
      open: () => void navigate({ to: '/alerts/rules/$ruleId', params: { ruleId: rule.id } }),
    })),
  ]
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return all
    .filter((hit) => words.every((word) => `${hit.kind} ${hit.detail} ${hit.label}`.toLowerCase().includes(word)))
    .slice(0, mostHits)
}

/** Ctrl-K: any service, host, rule or page by a part of its name. */
export function SearchDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState(0)
  const hits = useHits(query, opened)
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
      <TextInput
        data-autofocus
        autoFocus
        size="md"
        variant="unstyled"
        className={classes.input}
        leftSection={<IconSearch size={16} />}
        placeholder="Service, host, rule or page"
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-label="Find a service, host, rule or page"
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
            <span className={classes.detail}>{hit.kind === 'page' ? '' : hit.detail}</span>
          </li>
        ))}
        {hits.length === 0 && <li className={classes.none}>No results. Try part of the name.</li>}
      </ul>
    </Modal>
  )
}
