import { Button, MultiSelect } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Team } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { deleteTeam, saveTeam, teamsQuery } from '../../api/queries/access/teams'
import { usersQuery } from '../../api/queries/access/users'
import { loadStateOf } from '../../api/queries/base/loadState'
import { servicesQuery } from '../../api/queries/fleet/services'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { Fault } from '../../ui/states/Fault'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import classes from './AdminPage.module.css'
import { TextField } from '../../ui/inputs/fields'

interface Choice {
  value: string
  label: string
}

/** Teams with their members and the services that they own. */
export function TeamsTab() {
  const queries = useQueryClient()
  const query = useQuery(teamsQuery())
  const users = useQuery(usersQuery())
  const services = useQuery(servicesQuery(null))
  const load = loadStateOf(query)
  const [editing, setEditing] = useState<Team | null>(null)
  const deleting = useMutation(deleteTeam(queries))
  const userChoices = users.data?.map(({ id, name }): Choice => ({ value: id, label: name })) ?? []
  const serviceChoices =
    services.data?.items.map(({ id, namespace, name }): Choice => ({ value: id, label: `${namespace}/${name}` })) ?? []
  return (
    <Stack>
      <TeamForm
        key={editing?.id ?? 'new'}
        team={editing}
        users={userChoices}
        services={serviceChoices}
        onClose={() => setEditing(null)}
      />
      <Panel
        title="Teams"
        hint="members see page-level heat of their services and write advice, events and experiments there"
        flush
        testId="teams"
      >
        {deleting.error !== null && <Fault text={problemText(deleting.error)} />}
        <DataTable
          load={load}
          label="Teams"
          columns={teamColumns(userChoices, serviceChoices, setEditing, (team) => deleting.mutate(team.id))}
          rows={query.data}
          rowKey={(row) => row.id}
          skeletonRows={3}
          empty={{ title: 'No teams yet', next: 'Create one above and assign the services it owns.' }}
        />
      </Panel>
    </Stack>
  )
}

interface TeamFormProps {
  /** The team to change; null for a new one. */
  team: Team | null
  users: Choice[]
  services: Choice[]
  onClose: () => void
}

function TeamForm({ team, users, services, onClose }: TeamFormProps) {
  const queries = useQueryClient()
  const [name, setName] = useState(team?.name ?? '')
  const [members, setMembers] = useState(team?.members ?? [])
  const [owned, setOwned] = useState(team?.services ?? [])
  const saving = useMutation(saveTeam(queries))
  const save = () =>
    saving.mutate(
      { id: team?.id ?? null, name: name.trim(), members, services: owned },
      {
        onSuccess: () => {
          setName('')
          setMembers([])
          setOwned([])
          onClose()
        },
      },
    )
  return (
    <Panel title={team === null ? 'New team' : `Change ${team.name}`} testId="team-form">
      <FieldGrid label={team === null ? 'New team' : `Change ${team.name}`} onSubmit={save}>
        <TextField label="Name" value={name} onText={setName} />
        <MultiSelect searchable label="Members" data={users} value={members} onChange={setMembers} />
        <MultiSelect searchable label="Services it owns" data={services} value={owned} onChange={setOwned} />
        <span className={classes.buttons}>
          <Button type="submit" loading={saving.isPending} disabled={name.trim() === ''}>
            {team === null ? 'Create team' : 'Save team'}
          </Button>
          {team !== null && (
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
          )}
        </span>
        {saving.error !== null && <Fault text={problemText(saving.error)} />}
      </FieldGrid>
    </Panel>
  )
}

function teamColumns(
  users: Choice[],
  services: Choice[],
  onEdit: (team: Team) => void,
  onDelete: (team: Team) => void,
): Column<Team>[] {
  const labels = (choices: Choice[], ids: string[]) =>
    ids.map((id) => choices.find(({ value }) => value === id)?.label ?? id).join(', ') || 'none'
  return [
    { key: 'name', header: 'Team', cell: (team) => <strong>{team.name}</strong> },
    { key: 'members', header: 'Members', cell: (team) => labels(users, team.members) },
    { key: 'services', header: 'Owns', cell: (team) => labels(services, team.services) },
    {
      key: 'do',
      header: '',
      cell: (team) => (
        <span className={classes.buttons}>
          <Button variant="default" size="compact-xs" aria-label={`Change ${team.name}`} onClick={() => onEdit(team)}>
            Change
          </Button>
          <ConfirmDelete
            compact
            what={team.name}
            consequence="Its services will have no owner, and its members lose their permissions there."
            pending={false}
            onConfirm={() => onDelete(team)}
          />
        </span>
      ),
    },
  ]
}
