import { Button, Menu, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { memo, useRef, useState, type ChangeEvent } from 'react'
import { problemText } from '../../api/problem'
import { changeScenario, deleteScenario, scenariosQuery, storeScenario } from '../../api/queries/tco'
import { safeFileName } from '../../lib/export/csv'
import { valueAt } from '../../lib/tco/scenarioSpec'
import { toYaml } from '../../lib/tco/yaml'
import { downloadText } from '../../ui/export/download'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { Prose } from '../../ui/text/Prose'
import { LoginFirst } from '../shell/access/LoginFirst'
import { SaveDialog } from './SaveDialog'
import { SheetButton } from './SheetButton'
import { asScenario } from './tcoInputs'
import classes from './TcoPage.module.css'
import type { ScenarioState } from './useScenario'

const start = 'start'

/** Which scenario is shown, and what can be done with it: save, compare, export, import, delete. */
export const ScenarioBar = memo(function ScenarioBar({ state }: { state: ScenarioState }) {
  const { spec, scenarioId, stored } = state
  const queries = useQueryClient()
  const navigate = useNavigate()
  const file = useRef<HTMLInputElement>(null)
  const [naming, setNaming] = useState(false)
  const list = useQuery(scenariosQuery())
  const storing = useMutation(storeScenario(queries))
  const changing = useMutation(changeScenario(queries, scenarioId ?? ''))
  const deleting = useMutation(deleteScenario(queries))
  const failed = storing.error ?? changing.error
  const name = String(valueAt(spec, 'name') ?? '')
  const changed = state.search.set !== undefined

  const fresh = { set: undefined, option: undefined, start: undefined, service: undefined, share: undefined }
  const open = (id: string | undefined) =>
    id === undefined
      ? void navigate({ from: '/tco', to: '/tco', search: (before) => ({ ...before, ...fresh }) })
      : void navigate({
          from: '/tco',
          to: '/tco/$scenarioId',
          params: { scenarioId: id },
          search: (before) => ({ ...before, ...fresh }),
        })
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = event.currentTarget.files?.[0]
    event.currentTarget.value = ''
    if (chosen !== undefined) storing.mutate({ yaml: await chosen.text() }, { onSuccess: ({ id }) => open(id) })
  }
  const save = () => {
    if (spec === undefined || stored === undefined) return
    changing.mutate(
      { version: stored.version, spec: asScenario(spec) },
      { onSuccess: () => state.setSearch({ set: undefined }) },
    )
  }
  return (
    <div className={classes.bar} data-testid="tco-scenario">
      <Select
        aria-label="Scenario"
        searchable
        value={scenarioId ?? start}
        onChange={(value) => open(value === start || value === null ? undefined : value)}
        data={[
          { value: start, label: 'Starting point' },
          ...(list.data?.items ?? []).map((item) => ({ value: item.id, label: item.name })),
        ]}
      />
      <LoginFirst may="write:scenarios" to="save">
        {scenarioId !== undefined && (
          <Button disabled={!changed} loading={changing.isPending} onClick={save}>
            Save
          </Button>
        )}
        <Button variant="default" disabled={spec === undefined} onClick={() => setNaming(true)}>
          Save as…
        </Button>
      </LoginFirst>
      {changed && (
        <Button variant="default" onClick={() => state.setSearch({ set: undefined })}>
          Undo changes
        </Button>
      )}
      <SheetButton spec={spec} />
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" aria-label="More for this scenario">
            …
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            disabled={spec === undefined}
            onClick={() => spec && downloadText(`${safeFileName(name)}.yaml`, toYaml(spec), 'application/yaml')}
          >
            Export YAML
          </Menu.Item>
          <Menu.Item onClick={() => file.current?.click()}>Import YAML…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {scenarioId !== undefined && (
        <ConfirmDelete
          what="this scenario"
          consequence="The stored scenario is deleted. Prices and other scenarios are kept."
          pending={deleting.isPending}
          problem={deleting.error === null ? undefined : problemText(deleting.error)}
          onConfirm={() => deleting.mutate(scenarioId, { onSuccess: () => open(undefined) })}
        />
      )}
      <input
        ref={file}
        type="file"
        accept=".yaml,.yml"
        hidden
        aria-label="Scenario file"
        onChange={(event) => void read(event)}
      />
      <SaveDialog
        opened={naming}
        name={name}
        pending={storing.isPending}
        onClose={() => setNaming(false)}
        onSave={(chosen) => {
          if (spec === undefined) return
          storing.mutate(
            { name: chosen, spec: asScenario(spec) },
            {
              onSuccess: ({ id }) => open(id),
              onSettled: () => setNaming(false),
            },
          )
        }}
      />
      {failed !== null && (
        <p role="alert" className={classes.fault}>
          <Prose text={problemText(failed)} />
        </p>
      )}
    </div>
  )
})
