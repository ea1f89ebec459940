import { Button, Popover, Select } from '@mantine/core'
import { IconUsersGroup } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { TeamRef } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { setOwner, teamsQuery } from '../../api/queries/access/teams'
import { Stack } from '../../ui/layout/Stack'
import { Fault } from '../../ui/states/Fault'
import { useSession } from '../shell/access/useSession'

const nobody = 'nobody'

/** The team that owns a service; administrators give it to another one. */
export function OwnerControl({ serviceId, owner }: { serviceId: string; owner: TeamRef | null }) {
  const queries = useQueryClient()
  const { may } = useSession()
  const [opened, setOpened] = useState(false)
  const teams = useQuery({ ...teamsQuery(), enabled: opened && may('write:users') })
  const saving = useMutation(setOwner(queries, serviceId))
  const text = owner === null ? 'owned by no team' : `owned by ${owner.name}`
  if (!may('write:users')) return <span data-testid="owner">{text}</span>
  const give = (value: string | null) =>
    saving.mutate(value === null || value === nobody ? null : value, { onSuccess: () => setOpened(false) })
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus={opened} returnFocus>
      <Popover.Target>
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconUsersGroup size={14} aria-hidden />}
          aria-expanded={opened}
          data-testid="owner"
          onClick={() => setOpened(!opened)}
        >
          {text}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack>
          <Select
            label="Team that owns this service"
            description="Its members see page-level heat and write advice here."
            w={240}
            comboboxProps={{ withinPortal: false }}
            data={[
              { value: nobody, label: 'No team' },
              ...(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
            ]}
            value={owner?.id ?? nobody}
            disabled={saving.isPending}
            onChange={give}
          />
          {saving.error !== null && <Fault text={problemText(saving.error)} />}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
