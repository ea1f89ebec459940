import { ActionIcon, MultiSelect, Popover, Stack, Text, Tooltip } from '@mantine/core'
import { IconFilter } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { tagsQuery } from '../../../api/queries/fleet/tags'
import { countOf } from '../../../lib/units/units'
import { useTags } from './useTags'

/** Narrows all pages to hosts and services with some tags. */
export function TagsControl() {
  const { tags, setTags } = useTags()
  const [opened, setOpened] = useState(false)
  const query = useQuery({ ...tagsQuery(), enabled: opened })
  const known = query.data?.tags ?? []
  const options = known.map(({ key, value, hosts }) => ({
    key,
    value: `${key}=${value}`,
    label: `${value} · ${countOf(hosts, 'host')}`,
  }))
  const others = tags.filter((tag) => !options.some(({ value }) => value === tag))
  const all = [...others.map((tag) => ({ key: 'chosen', value: tag, label: tag })), ...options]
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus returnFocus width={300}>
      <Popover.Target>
        <Tooltip label="Narrow all pages by service, owner, kernel or label" disabled={opened}>
          <ActionIcon
            aria-label="Narrow all pages"
            data-testid="tags"
            variant={tags.length === 0 ? undefined : 'light'}
            onClick={() => setOpened(!opened)}
          >
            <IconFilter size={17} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <MultiSelect
            searchable
            clearable
            label="Show only"
            placeholder="service, owner, kernel, label"
            limit={200}
            comboboxProps={{ withinPortal: false }}
            data={[...new Set(all.map(({ key }) => key))].map((group) => ({
              group,
              items: all.filter(({ key }) => key === group).map(({ value, label }) => ({ value, label })),
            }))}
            value={tags}
            onChange={setTags}
          />
          <Text size="xs" c="dimmed">
            Values of one key widen, other keys narrow. The address holds them.
          </Text>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
